# Each target runs one script of tools/ (bench: of benches/), which reads these variables from the environment:
#
#   PG_CONFIG=path   the PostgreSQL to build for (default: the newest installed one that Cargo.toml has a feature for)
#   TEST=names       the tests of `make check`, or of `make unit`
#   DOCS=folder      the documents of `make demo`
#   JOBS=2           how many stages of `make test` run at a time (default: one more than there are processors)

.PHONY: help demo site check unit test test-matrix test-packages test-arm64 soak fuzz hostile leaks deny all \
	install uninstall package deb rpm tle wheel js sbom release bench bench-against clean

help:
	@echo 'make demo     finds near-duplicates among the files of DOCS=folder (default: copyright files in /usr/share/doc)'
	@echo 'make site     builds the documentation as a site with a search, target/site'
	@echo 'make check    the SQL and isolation tests with TEST=name in their names; in seconds once the build exists'
	@echo 'make unit     the tests of the algorithm with TEST=name in their names, without a server'
	@echo 'make test     all tests: format, lints, unit, SQL, isolation, drivers, load, upgrades, dumps, replication, crashes'
	@echo 'make test-matrix    the tests on PostgreSQL 15 to 19, pg_upgrade and test-packages (as root)'
	@echo 'make test-packages  builds the packages and uses them in a new Debian (as root)'
	@echo 'make test-arm64     runs the tests of the algorithm for arm64, in an emulator (as root; takes long)'
	@echo 'make soak     writes near-duplicates into a guarded table, with crashes: a quarter of an hour (options: see tests/load/soak/run)'
	@echo 'make fuzz     fuzzes what reads HTML and tsvectors: 10 minutes (options: see tools/fuzz)'
	@echo 'make hostile  calls with hostile arguments: an hour (options: see tests/load/hostile/run)'
	@echo 'make leaks    measures the memory of a backend over a million calls of each function: half an hour'
	@echo 'make deny     checks the licences, sources and known vulnerabilities of all dependencies'
	@echo 'make install  installs the extension into the PostgreSQL of PG_CONFIG=path (make all only builds it)'
	@echo 'make uninstall  removes its files from there (first, in each database: DROP EXTENSION pg_simhash)'
	@echo 'make package  makes a tarball for that PostgreSQL, and the source distribution for PGXN'
	@echo 'make deb      makes a Debian package for that PostgreSQL'
	@echo 'make rpm      makes an RPM package for that PostgreSQL'
	@echo 'make tle      makes the edition without the library, for pg_tle and database.dev'
	@echo 'make wheel    makes the Python package'
	@echo 'make js       makes the JavaScript package (as root)'
	@echo 'make sbom     lists the crates in the library, with their licences, as CycloneDX'
	@echo 'make release  makes all packages twice, from clean clones, with checksums and notes (the JavaScript package as root)'
	@echo 'make bench    runs the benchmarks'
	@echo 'make bench-against COMMIT=tag  compares the times of this tree with those of a commit: ten minutes'
	@echo 'make clean    removes everything that was built'
	@echo
	@echo 'Each first installs what is missing (see tools/setup). Only install and uninstall change the installed PostgreSQL.'

demo site check unit test test-matrix fuzz deny install uninstall package deb rpm wheel js release:
	@tools/$@

sbom tle:
	@tools/package $@

# PGXN's client calls this target.
all:
	@tools/build

soak hostile:
	@tests/load/$@/run

leaks:
	@tests/load/hostile/run leaks

test-packages:
	@tests/packages/run

test-arm64:
	@tools/test-matrix arm64

bench:
	@benches/run

bench-against:
	@AGAINST="$${COMMIT:?is the commit to compare with}" benches/run

clean:
	cargo clean
