# One entry for everything: `make test` is what the continuous integration runs.
.PHONY: build counts test lint fmt bench lab fuzz docs tools

build:
	cargo build --release

# Renews the counts by which that is laid out; see bench/README.md.
counts:
	@bench/counts

# Servers and clients the tests talk to, from Debian's packages; nothing is installed that is there already.
tools:
	@bash .ci/tools

test: tools lint
	@bash .ci/test

lint:
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	RUSTDOCFLAGS="-D rustdoc::broken_intra_doc_links -A rustdoc::private_intra_doc_links" \
	  cargo doc --quiet --workspace --no-deps --document-private-items --locked
	cargo check --quiet --manifest-path fuzz/Cargo.toml --target-dir target --locked
	@bash .ci/arrows

fmt:
	cargo fmt --all

# Larder beside nginx and Varnish, each on one core; see bench/README.md.
bench:
	cargo build --release --locked -p larder
	cargo build --release --locked -p proxy --examples
	python3 bench/run

# Five articles' experiments done again, some forty minutes; `make lab ARGS=--quick` to try it; see lab/README.md.
lab:
	cargo build --release --locked -p larder
	python3 lab/run $(ARGS)

# A few minutes on each fuzz target; see fuzz/README.md.
fuzz:
	@bash fuzz/run

# Pages that are generated from the source.
docs:
	cargo run -q -p larder -- schema --markdown > docs/configuration.md
	UPDATE_DOCS=1 cargo test -q -p larder metrics
