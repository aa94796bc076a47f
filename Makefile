# Sluice. On a fresh Debian 12 with Rust and make, as root:
#
#   make demo    see it work: php-fpm behind nginx, a burst, a table
#   make test    everything: Rust, PHP in CLI and behind php-fpm, real Redis

SO := target/release/libsluice.so
PHP := php8.2

.PHONY: all build demo test test-rust test-php bench lint clean \
        setup-build setup-demo setup-test setup-bench

all: build

setup-build setup-demo setup-test setup-bench: setup-%:
	@scripts/setup.sh $*

build: setup-build
	cargo build --release

demo: setup-demo build
	@$(PHP) -n demo/run.php $(abspath $(SO))

test: setup-test test-rust test-php

test-rust: setup-test
	cargo test --no-default-features

test-php: setup-test build
	SLUICE_SO=$(abspath $(SO)) scripts/phpunit.sh

bench: setup-bench build
	@$(PHP) -d apc.enable_cli=1 -d extension=$(abspath $(SO)) benches/run.php

lint: setup-build
	cargo fmt --check
	cargo clippy --all-targets -- -D warnings
	cargo clippy --all-targets --no-default-features -- -D warnings
	cargo test --quiet --no-default-features --test lua_lint
	@scripts/lint-php.sh

clean:
	cargo clean
