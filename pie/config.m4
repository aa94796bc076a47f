dnl For `pie install`, and for phpize by hand: cargo does the work.
dnl
dnl   cd pie && phpize && ./configure && make && make install
PHP_ARG_ENABLE([sluice],
  [whether to build sluice],
  [AS_HELP_STRING([--enable-sluice], [Build sluice])],
  [yes])

if test "$PHP_SLUICE" != "no"; then
  AC_PATH_PROG([CARGO], [cargo])
  if test -z "$CARGO"; then
    AC_MSG_ERROR([cargo is not there; install Rust 1.89 or later, https://rustup.rs])
  fi
  PHP_SUBST([CARGO])
  PHP_SUBST([PHP_CONFIG])
  PHP_MODULES="$PHP_MODULES \$(phplibdir)/sluice.so"
  PHP_ADD_MAKEFILE_FRAGMENT([$abs_srcdir/Makefile.frag])
fi
