#!/usr/bin/env bash
# Static analysis of php/src by php/mago.toml, against Debian's packages and the
# frameworks in LARAVEL_DIR (12), THINKPHP_DIR (8), SYMFONY_DIR (7) and SLIM_DIR
# (4): older ones say less about their types, so that there is more to report. A
# room whose framework is not there is left out.
set -euo pipefail
cd "$(dirname "$0")/.."

: "${MAGO:=target/mago/bin/mago}"
config=$(mktemp --suffix=.toml)
trap 'rm -f "$config"' EXIT

includes=("$PWD/stubs" /usr/share/php/{Carbon,GuzzleHttp,PHPUnit})
excludes=()

# A room, the variable that names its framework, and what it needs of that.
room() {
  local name=$1 variable=$2
  local root=${!variable:-}
  shift 2
  if [ -z "$root" ]; then
    echo "analyse: php/src/$name is left out; set $variable to a checkout with vendor/"
    excludes+=("src/$name")
    return
  fi
  for package; do
    [ -d "$root/vendor/$package" ] || { echo "analyse: $variable has no vendor/$package" >&2; exit 2; }
    includes+=("$root/vendor/$package")
  done
}
room Laravel LARAVEL_DIR laravel/framework symfony psr
room Think THINKPHP_DIR topthink psr
room Symfony SYMFONY_DIR symfony psr
room Psr15 SLIM_DIR psr
# Theirs or Debian's, which are of other versions.
[ "${#excludes[@]}" -lt 4 ] || includes+=(/usr/share/php/Psr)

list() { printf '"%s", ' "$@"; }
sed -e "s#^includes = .*#includes = [$(list "${includes[@]}")]#" \
  -e "/^includes = /a excludes = [$( ((${#excludes[@]})) && list "${excludes[@]}" )]" \
  php/mago.toml >"$config"
"$MAGO" --config "$config" --workspace php analyze "$@"
