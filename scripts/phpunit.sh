#!/usr/bin/env bash
# Runs the PHP tests against the built extension, and nothing else of this
# machine's PHP that they do not need.
set -euo pipefail
cd "$(dirname "$0")/.."

: "${SLUICE_SO:=$PWD/target/release/libsluice.so}"
export SLUICE_SO
exec php8.2 -d extension="$SLUICE_SO" /usr/bin/phpunit -c phpunit.xml.dist "$@"
