# Each target is one script of tools/ (bench: of benches/); the variables reach it through the environment.
#
#   PG_CONFIG=path   the PostgreSQL to build for (default: the newest installed one that Cargo.toml has a feature for)
#   DOCS=folder      the documents of `make demo`
#   KEEP=1           `make demo` leaves its server running

.PHONY: help demo test test-matrix test-packages soak fuzz hostile leaks valgrind deny all install package deb bench \
	clean

help:
	@echo 'make demo     near-duplicates among the files of DOCS=folder (default: the copyright files in /usr/share/doc)'
	@echo 'make test     format, lints; unit, SQL, isolation, driver, load, upgrade, dump, replication and crash tests'
	@echo 'make test-matrix  the tests on PostgreSQL 15, 17 and 18, pg_upgrade, and test-packages (as root)'
	@echo 'make test-packages  makes the packages twice, and uses them in a new Debian (as root)'
	@echo 'make soak     a load of near-duplicates on a guarded table, with crashes: ten minutes (options: see tools/soak)'
	@echo 'make fuzz     the algorithm on made-up input, against an oracle: half an hour (options: see tools/fuzz)'
	@echo 'make hostile  calls with hostile arguments on a server with assertions: an hour (options: see tools/hostile)'
	@echo 'make leaks    the memory of a backend over a million calls of each function: half an hour'
	@echo 'make valgrind the SQL tests on a server under valgrind'
	@echo 'make deny     the licences, sources and known vulnerabilities of all dependencies'
	@echo 'make install  the extension into the PostgreSQL of PG_CONFIG=path (make all only builds it)'
	@echo 'make package  a tarball for that PostgreSQL, and the source distribution for PGXN'
	@echo 'make deb      a Debian package for that PostgreSQL'
	@echo 'make bench    the benchmarks'
	@echo 'make clean    removes all that was built'
	@echo
	@echo 'Each first installs what is missing (see tools/setup). Only make install touches the installed PostgreSQL.'

demo:
	@tools/demo

test:
	@tools/test

test-matrix:
	@tools/test-matrix

soak:
	@tools/soak

fuzz:
	@tools/fuzz

deny:
	@tools/deny

# The name is PGXN's.
all:
	@tools/build

hostile:
	@tools/hostile

leaks:
	@tools/leaks

valgrind:
	@tools/valgrind

install:
	@tools/install

package:
	@tools/package

deb:
	@tools/deb

test-packages:
	@tools/test-packages

bench:
	@benches/run

clean:
	cargo clean
