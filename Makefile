# The two commands of the README: `make apply` and `make test`. Each works alone on a fresh Debian 12 or 13 that has
# python3, make and apt; what else they need they install themselves (apt packages only as root).

PROFILE ?= llm-inference
# The system's own Python where it is new enough: every user can run it, as the tests without root do.
OWN     := $(firstword $(foreach python,/usr/bin/python3 python3,$(shell $(python) -c 'import sys; \
    print("$(python)" if sys.version_info >= (3, 11) else "")' 2>/dev/null)) python3)
PYTHON  ?= $(OWN)
VENV    ?= .venv
RUN     := $(VENV)/bin/numatune
PIP     := $(VENV)/bin/python -m pip --quiet --disable-pip-version-check
APT     := DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0

.DEFAULT_GOAL := help
.PHONY: help apply plan test lint image unit docs bench fuzz lab lab-matrix molecule wheelhouse clean

help:  ## show this list
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 20

apply: $(VENV)/.runtime  ## tune this host: diff, apply, verify (PROFILE=llm-inference)
	$(RUN) apply $(PROFILE) --yes --differences-ok
	$(RUN) verify $(PROFILE) --differences-ok
	@echo "numatune is $(abspath $(RUN)); what it changed: $(abspath $(RUN)) history"

plan: $(VENV)/.runtime  ## show what apply would do, without doing it
	$(RUN) plan $(PROFILE) --differences-ok

# LAB=0 leaves the virtual machines out; their tests are then skipped, as they are without root or QEMU.
# JOBS: test files at once, each with at most one machine of 2 GiB. Style is looked at while the guests' image is built.
LAB  ?= 1
JOBS ?= 2
export LAB
test: .build/apt .build/sshd  ## everything: style, types, import contracts, units, live kernel, captures, lab (LAB=0: no lab)
	@test "$(LAB)" = 0 || $(MAKE) --no-print-directory .build/apt-lab || true
	$(MAKE) --no-print-directory --jobs 2 --output-sync lint image .build/readers
	$(MAKE) --no-print-directory unit

lint: $(VENV)/.dev
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/mypy roles/numatune/library
	$(VENV)/bin/mypy roles/numatune/action_plugins
	$(VENV)/bin/mypy tools
	$(VENV)/bin/lint-imports

image:
	@test "$(LAB)" = 0 || PYTHONPATH=tests $(OWN) -m lab image || true

unit: $(VENV)/.dev
	@$(VENV)/bin/python -m compileall -q numatune  # once, where the environment forbids each run to keep it
	$(VENV)/bin/python -m pytest --numprocesses $(JOBS) --dist loadfile --no-loadscope-reorder

docs: $(VENV)/.dev  ## write what is generated: docs/reference.md, docs/man
	$(VENV)/bin/python -m tools.docs

bench: $(VENV)/.dev  ## ratios of one run against TuneD and Ansible (root; installs both, changes nothing)
	$(VENV)/bin/python tests/bench/start.py
	$(VENV)/bin/python tests/bench/scale.py
	$(VENV)/bin/python tests/bench/compare.py

SEED  ?= 1
COUNT ?= 10000
fuzz: $(VENV)/.dev  ## odd profiles and odd hosts, 10,000 of each (SEED=1 COUNT=10000; make test has a sample)
	PYTHONPATH=tests $(VENV)/bin/python -P -m fuzz --seed $(SEED) --count $(COUNT)

SHAPE ?= nps2
lab: .build/apt-lab  ## a shell in a virtual multi-node machine with this checkout's numatune (SHAPE=nps2; root)
	@PYTHONPATH=tests $(PYTHON) -m lab $(SHAPE)

lab-matrix: .build/apt-lab $(VENV)/.dev  ## the lab's and the role's tests with every shape, kernel, launch policy, profile, export, series of ansible-core (root; hours)
	LAB=1 LAB_MATRIX=1 $(VENV)/bin/python -m pytest --numprocesses $(JOBS) --dist loadfile \
	    --ignore tests/lab/test_molecule.py tests/lab tests/ansible

# GUEST: the Python of the lab's machines.
SCENARIOS ?= default fleet
GUEST     := 3.13
molecule: .build/apt-lab .build/molecule/venv/bin/molecule  ## the role on virtual machines, from nothing to nothing (root)
	rm -rf .build/molecule/numatune-*
	$(MAKE) --no-print-directory wheelhouse PYTHON=$(GUEST) ARCH=x86_64 DIST=.build/molecule
	molecule/run $(SCENARIOS)

# PYTHON is the hosts' here, a version or a name (3.12, python3.12). pip's tags are of glibc 2.28 and older:
# RHEL 8, Debian 10, Ubuntu 20.04 and later.
ARCH ?= x86_64
DIST ?= dist
FOR   = $(or $(filter 3.%,$(patsubst python%,%,$(notdir $(PYTHON)))),$(shell $(OWN) -c 'import sys; print("%d.%d" % sys.version_info[:2])'))
SET   = $(shell sed -n 's/^version = "\(.*\)"/numatune-\1/p' pyproject.toml)-cp$(subst .,,$(FOR))-$(ARCH)
TAGS  = $(foreach glibc,2014 _2_17 _2_28,--platform manylinux$(glibc)_$(ARCH))
wheelhouse: .build/pip/bin/pip  ## all wheels for hosts without a network (PYTHON=3.13 ARCH=x86_64|aarch64)
	rm -rf $(DIST)/$(SET) $(DIST)/$(SET).tar
	.build/pip/bin/pip --quiet wheel --no-deps --wheel-dir $(DIST)/$(SET) .
	.build/pip/bin/pip --quiet download --dest $(DIST)/$(SET) --only-binary :all: --implementation cp \
	    --python-version $(FOR) $(TAGS) $(DIST)/$(SET)/numatune-*.whl
	tar --create --file $(DIST)/$(SET).tar --directory $(DIST) --sort name --owner 0 --group 0 --numeric-owner $(SET)
	@echo "$(DIST)/$(SET).tar"

clean:
	rm -rf $(VENV) .build dist

# --- what they need -------------------------------------------------------------------------------------------------

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	    { echo "numatune needs Python 3.11 or newer; name one: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { test "$$(id -u)" = 0 && $(APT) update && \
	    $(APT) install -y --no-install-recommends python3-venv >/dev/null; } || \
	    { echo "python3-venv is missing: apt-get install python3-venv" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

.build/pip/bin/pip:
	@$(MAKE) --no-print-directory VENV=.build/pip PYTHON=$(OWN) .build/pip/bin/python
	.build/pip/bin/pip --quiet --disable-pip-version-check install --upgrade 'pip>=25.1'

$(VENV)/.runtime: pyproject.toml | $(VENV)/bin/python
	$(PIP) install --editable .
	@touch $@

$(VENV)/.dev: pyproject.toml | $(VENV)/.runtime
	$(PIP) install --upgrade 'pip>=25.1'
	$(PIP) install --group lint --group test
	@touch $@

.build/molecule/venv/bin/molecule:
	@$(MAKE) --no-print-directory VENV=.build/molecule/venv PYTHON=$(OWN) .build/molecule/venv/bin/python
	.build/molecule/venv/bin/pip --quiet --disable-pip-version-check install 'molecule>=26' ansible-core pytest-testinfra

# Second opinions that the tests ask where they are there: numactl, lscpu, sysctl; shells for completion, mandoc for the
# manual pages. Without root those tests are skipped.
.build/apt:
	@mkdir -p .build
	@if test "$$(id -u)" = 0 && command -v apt-get >/dev/null; then $(APT) update && \
	    $(APT) install -y --no-install-recommends numactl procps util-linux busybox-static openssh-client \
	        mmdebstrap debian-archive-keyring zsh fish groff-base mandoc shellcheck >/dev/null; \
	else echo "not root, or no apt: tests that need numactl or sysctl are skipped where these are missing"; fi
	@touch $@

# An ssh server for the tests of other hosts, unpacked: installed, it would be started. Without one they are skipped.
.build/sshd: .build/apt
	@mkdir -p $@
	@if command -v apt-get >/dev/null && ! test -x /usr/sbin/sshd; then cd $@ && \
	    for package in openssh-server libwrap0 libwtmpdb0; do $(APT) download $$package 2>/dev/null; done; \
	    for file in *.deb; do test ! -e $$file || dpkg-deb -x $$file . ; done; rm -f *.deb; fi
	@touch $@

# What reads the files and lines of export-launch, unpacked likewise: podman's quadlet (a newer suite's where this one has
# none), docker-compose, mpirun, srun, and Kubernetes' schemas. Where one is missing its tests are skipped.
READERS := docker-compose|podman|openmpi-(bin|common)|libopenmpi[0-9a-z]*|prrte|libprrte.*|libpmix.*|libhwloc15
READERS := $(READERS)|libevent-(core|pthreads).*|libnl-.*|libmunge2|slurm-client|slurm-wlm-basic-plugins|python3-[a-z].*
NO      := $(addprefix --no-,recommends suggests conflicts breaks replaces enhances)
.build/readers: .build/apt | $(VENV)/.dev  # its pip, once it is renewed
	@mkdir -p $@
	@if command -v apt-get >/dev/null; then cd $@ && apt-get -qq download $$(apt-cache depends --recurse $(NO) \
	    docker-compose podman openmpi-bin slurm-client 2>/dev/null | grep -Ex '$(READERS)' | sort -u) 2>/dev/null; \
	    for file in *.deb; do test ! -e $$file || dpkg-deb -x $$file . ; done; rm -f *.deb; fi
	@test -x $@/usr/libexec/podman/quadlet || { PYTHONPATH=tests $(OWN) -c 'import pathlib; from lab.apt import fetch; \
	    fetch("trixie", "podman", "podman", pathlib.Path("$@/newer"))' 2>/dev/null && \
	    dpkg-deb --fsys-tarfile $@/newer/*.deb | tar -x -C $@ ./usr/libexec/podman/quadlet; rm -rf $@/newer; } || true
	@$(PIP) download --no-deps --dest $@ kubernetes-validate || true
	@touch $@

# The lab's own: QEMU, and what builds a guest's disk.
.build/apt-lab:
	@mkdir -p .build
	@test "$$(id -u)" = 0 || { echo "the lab needs root: it builds a guest's file system" >&2; exit 1; }
	@$(APT) update && $(APT) install -y --no-install-recommends qemu-system-x86 qemu-utils seabios ipxe-qemu acpica-tools \
	    mmdebstrap debian-archive-keyring openssh-client e2fsprogs util-linux >/dev/null
	@touch $@
