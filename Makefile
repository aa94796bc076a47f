# Sluice. On a fresh Debian 12 with Rust and make, as root:
#
#   make demo          see it work: php-fpm behind nginx, a burst, a table
#   make incident      a site under attack, with and without limits; a chart
#   make test          everything: Rust, PHP in CLI and behind php-fpm, frameworks,
#                      real Redis servers
#   make test-faults   Redis broken in every way; writes docs/faults.md
#   make analyse       static analysis of php/src; builds its analyser first
#   make bench         beside its peers: decisions, Redis, requests a second

SO := $(or $(CARGO_TARGET_DIR),target)/release/libsluice.so
PHP := php8.2

.PHONY: all build demo incident test test-rust test-php test-faults bench \
        lint analyse clean setup-build setup-demo setup-test setup-bench setup-incident

all: build

setup-build setup-demo setup-test setup-bench setup-incident: setup-%:
	@scripts/setup.sh $*

build: setup-build
	cargo build --release

demo: setup-demo build
	@$(PHP) -n demo/run.php $(abspath $(SO))

# About a minute and a half; writes docs/incident.svg.
incident: setup-incident build
	@$(PHP) -d extension=$(abspath $(SO)) benches/incident.php

test: setup-test test-rust test-php

test-rust: setup-test
	cargo test --no-default-features

test-php: setup-test build
	SLUICE_SO=$(abspath $(SO)) scripts/phpunit.sh

# Breaks Redis in every way and writes docs/faults.md. A part of test-rust;
# alone, it takes two minutes. Another server: SLUICE_REDIS_SERVER=/path/to/it.
test-faults: setup-test
	SLUICE_FAULTS_TABLE=$(abspath docs/faults.md) \
		cargo test --no-default-features --test redis_faults

bench: setup-bench build
	@for part in run redis web; do \
		$(PHP) -d apc.enable_cli=1 -d extension=$(abspath $(SO)) benches/$$part.php || exit 1; \
	done

lint: setup-build
	cargo fmt --check
	cargo clippy --all-targets -- -D warnings
	cargo clippy --all-targets --no-default-features -- -D warnings
	cargo test --quiet --no-default-features --test lua_lint
	@scripts/lint-php.sh

# Not a part of lint, for building the analyser takes minutes.
MAGO := target/mago/bin/mago

analyse: setup-test $(MAGO)
	@MAGO=$(MAGO) scripts/analyse.sh

$(MAGO):
	cargo install mago --version =1.29.0 --locked --root target/mago

clean:
	cargo clean
