# Built for the PHP whose phpize was run. Cargo knows what is up to date.
# Without --with-php-config that is a bare name; the build wants its path.
$(phplibdir)/sluice.so: FORCE
	@mkdir -p $(phplibdir)
	PHP_CONFIG=$$(command -v $(PHP_CONFIG)) PHP=$(PHP_EXECUTABLE) $(CARGO) build --release --locked --manifest-path $(top_srcdir)/../Cargo.toml
	cp $${CARGO_TARGET_DIR:-$(top_srcdir)/../target}/release/libsluice.so $@

FORCE:
