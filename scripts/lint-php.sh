#!/usr/bin/env bash
# Every PHP file of the project compiles.
set -euo pipefail
cd "$(dirname "$0")/.."

find . -path ./target -prune -o -name '*.php' -print0 |
  xargs -0 -r -n 1 php8.2 -n -l | { grep -v '^No syntax errors' || true; } |
  { if grep .; then exit 1; fi; }
echo "php: no syntax errors"

# The library that others install follows PSR-12.
if command -v phpcs >/dev/null; then
  phpcs -n --standard=PSR12 php/src php/config
  echo "php: PSR-12"
else
  echo "php: PSR-12 not looked at, php-codesniffer is not there"
fi
