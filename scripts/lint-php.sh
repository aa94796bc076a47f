#!/usr/bin/env bash
# Every PHP file of the project compiles.
set -euo pipefail
cd "$(dirname "$0")/.."

find . -path ./target -prune -o -name '*.php' -print0 |
  xargs -0 -r -n 1 php8.2 -n -l | { grep -v '^No syntax errors' || true; } |
  { if grep .; then exit 1; fi; }
echo "php: no syntax errors"
