#!/usr/bin/env bash
# Installs what a step needs and is not there yet, from Debian's packages.
# Asks nothing, starts no service, and does nothing where all is there.
set -euo pipefail

build=(php8.2-cli php8.2-dev clang libclang-dev gcc)
demo=("${build[@]}" php8.2-fpm nginx-light)
test=("${build[@]}" php8.2-fpm nginx-light redis-server phpunit php-codesniffer php8.2-redis valgrind
  php8.2-cgi apache2-bin libapache2-mod-php8.2
  php8.2-curl php8.2-intl php8.2-mbstring php8.2-xml curl nodejs php-psr-log
  php-laravel-framework php-guzzlehttp-guzzle php-nyholm-psr7 php-slim
  php-symfony-framework-bundle php-symfony-lock php-symfony-rate-limiter
  php-symfony-security-bundle php-symfony-yaml)
bench=("${test[@]}" php8.2-apcu redis-tools strace wrk php-symfony-cache)
incident=("${demo[@]}" gnuplot-nox)

case "${1:-}" in
build | demo | test | bench | incident) declare -n wanted="$1" ;;
*)
  echo "usage: $0 build|demo|test|bench|incident" >&2
  exit 2
  ;;
esac

if ! command -v cargo >/dev/null; then
  echo "sluice: cargo is not there; install Rust 1.89 or later first" >&2
  exit 1
fi

missing=()
for package in "${wanted[@]}"; do
  # Any package that provides it will do, nginx for nginx-light for one.
  case "$package" in
  nginx-light) command -v nginx >/dev/null || [ -x /usr/sbin/nginx ] || missing+=("$package") ;;
  nodejs) command -v node >/dev/null || missing+=("$package") ;;
  *) dpkg-query -W -f='${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed ||
    missing+=("$package") ;;
  esac
done
[ ${#missing[@]} -eq 0 ] && exit 0

if [ "$(id -u)" -ne 0 ]; then
  echo "sluice: these packages are missing, and only root can install them:" >&2
  echo "  apt-get install ${missing[*]}" >&2
  exit 1
fi

# Debian starts a service when its package is installed, unless this file says
# no. The tests start servers of their own.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  trap 'rm -f "$policy"' EXIT
  printf '#!/bin/sh\nexit 101\n' >"$policy"
  chmod +x "$policy"
fi

echo "sluice: installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
apt-get update -q
apt-get install -q -y --no-install-recommends "${missing[@]}"
