# Needs git, make and Python 3.11 or newer; everything else is installed into .venv.
# The first that runs, since a launcher of that name may lie on the path without a Python behind it.
PYTHON ?= $(shell for p in python3.13 python3.12 python3.11 python3 python; do \
    $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)
# Some images set it, and each of the thousands of processes that tests start would then compile all its modules again.
export PYTHONDONTWRITEBYTECODE :=
VENV := .venv
BIN := $(VENV)/bin
DEMO := $(VENV)/demo.db
LEXICAL = $(abspath $(BIN))/python $(abspath $(EVAL))/baseline_ctags.py search -n {k} --mode body --test-weight 0.5 --index $(abspath $(INDEXES))
SCORE = $(BIN)/python "$(EVAL)/score.py" --trees "$(abspath $(TREES))"
ASK = $(BIN)/codelens eval --no-config --indexes "$(INDEXES)"
BESIDE = $(BIN)/codelens eval --no-config --compare --markdown --metrics P@10,MRR,strict_ndcg@10,strict_hit@10,file@10

.PHONY: demo test test-all check format lint types contracts golden wheel vscode bench tour faults fuzz docs pictures readme recheck model eval questions weights clean

# What is installed grows from `make demo` to `make test` to `make check`. The packages that build codelens come with pip, so that
# it is built at once. Modules are compiled when they are first imported, which takes less time and disk space.
$(VENV)/made:
	@test -n "$(PYTHON)" || { echo "codelens needs Python 3.11 or newer: make PYTHON=path/to/python3.12"; exit 2; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "codelens needs Python 3.11 or newer: make PYTHON=python3.12")'
	@echo "==> Creating the virtual environment $(VENV) with $$($(PYTHON) --version)"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --no-compile --upgrade pip hatchling editables
	@touch $@

INSTALL = $(BIN)/python -m pip install --no-compile --no-build-isolation --progress-bar off --editable

$(VENV)/ready: pyproject.toml | $(VENV)/made
	@echo "==> Installing codelens and the packages it needs (40 MB to download)"
	$(INSTALL) .
	@touch $@

$(VENV)/ready-to-test: pyproject.toml | $(VENV)/made
	@echo "==> Installing codelens and what the first tier of tests needs"
	$(INSTALL) '.[test]'
	@touch $(VENV)/ready $@

$(VENV)/ready-to-check: pyproject.toml | $(VENV)/made
	@echo "==> Installing codelens and everything that its development needs (1.5 GB on disk)"
	$(INSTALL) '.[dev]'
	@touch $(VENV)/ready $(VENV)/ready-to-test $@

demo: $(VENV)/ready  ## set up, index sample_repos, search, and ask why
	@echo "==> Indexing two sample repositories, searching them, and explaining the best hit"
	$(BIN)/codelens index --db $(DEMO) sample_repos/*/repo
	$(BIN)/codelens search --db $(DEMO) -m 5 "where is the shopping cart total computed"
	$(BIN)/codelens why --db $(DEMO) -m 1 "where is the shopping cart total computed"

# More processes than cores, since many tests wait for others; each gets whole modules, whose fixtures are then made once.
PARALLEL := -n 4 --dist worksteal

test: $(VENV)/ready-to-test  ## the first tier of tests: what to run before each commit
	$(BIN)/pytest $(PARALLEL)

TESTS := --all
test-all: $(VENV)/ready-to-check  ## all tests: processes, kills, large trees and browsers too; TESTS=--slow leaves out the first tier
	$(BIN)/pytest $(PARALLEL) $(TESTS)

check: format lint types contracts test-all wheel vscode  ## all that must hold before a change lands

format: $(VENV)/ready-to-check
	$(BIN)/ruff format --check codelens tests tools

lint: $(VENV)/ready-to-check
	$(BIN)/ruff check codelens tests tools
	$(BIN)/python -m tools.source_rules

types: $(VENV)/ready-to-check
	$(BIN)/mypy

contracts: $(VENV)/ready-to-check
	$(BIN)/lint-imports

golden: $(VENV)/ready-to-check  ## rewrite expected outputs; read the diff before you commit it
	$(BIN)/pytest --all --golden

wheel: $(VENV)/ready-to-check  ## build it, install it into an empty environment, index and search there
	PYTHON=$(PYTHON) sh tests/wheel.sh $(BIN)/python

vscode: $(VENV)/ready-to-check  ## the extension for VS Code: checked, tested against the server, and packed, where npm is installed
	@if command -v npm >/dev/null; then \
	    cd editors/vscode && npm ci && CODELENS="$(abspath $(BIN))/codelens" npm test && npm run package; \
	else \
	    echo "npm is not installed: the extension for VS Code was not built"; \
	fi

bench: $(VENV)/ready-to-check  ## cost beside public tools: make bench TREE=path [OUT=file.json] [GROWTH=file.svg]; make bench COMPARE="A.json B.json"
	@test -n "$(TREE)$(COMPARE)" || { echo 'usage: make bench TREE=path [OUT=file.json] [GROWTH=file.svg], or COMPARE="A.json B.json"'; exit 2; }
	$(BIN)/python -m tools.speed $(TREE) $(if $(OUT),--out "$(OUT)") $(if $(GROWTH),--growth "$(GROWTH)") $(if $(COMPARE),--compare $(COMPARE))

tour: $(VENV)/ready-to-check  ## what indexing many real trees costs, beside bars: make tour TREES=folder [ONLY="sympy rails"] [OUT=file.json]
	@test -n "$(TREES)" || { echo 'usage: make tour TREES=folder [ONLY="sympy rails"] [OUT=file.json]'; exit 2; }
	$(BIN)/python -m tools.tour "$(TREES)" $(if $(ONLY),--only $(ONLY)) $(if $(OUT),--out "$(OUT)")

CAMPAIGN = $(if $(ONLY),--only $(ONLY)) $(if $(COUNT),--count $(COUNT)) $(if $(SEED),--seed $(SEED)) $(if $(OUT),--out "$(OUT)")

faults: $(VENV)/ready-to-check  ## kills, bad disks, damage, hostile trees, edits, planted files: make faults [ONLY="git planted"] [COUNT=n] [SEED=n] [OUT=file.json]
	$(BIN)/python -m tools.faults $(CAMPAIGN)

fuzz: $(VENV)/ready-to-check  ## queries, source, file formats, HTTP, MCP: make fuzz [ONLY="queries derive"] [COUNT=n] [SEED=n] [OUT=file.json]
	$(BIN)/pytest $(PARALLEL) --many tests/fuzz tests/properties tests/faults/test_planted.py tests/server/lsp/test_languages.py
	$(BIN)/python -m tools.fuzz $(CAMPAIGN)

docs: $(VENV)/ready-to-check  ## the manual as a site that works from disk (site/index.html); the man page and completions of packaging/share
	$(BIN)/mkdocs build --strict --quiet
	$(BIN)/python -m tools.manual

pictures: $(VENV)/ready-to-check  ## draw the pictures of README and manual from real runs
	$(BIN)/python -m tools.pictures

readme: pictures  ## README again: its pictures, the tables of figures from docs/figures.md, and the outputs of its commands
	$(BIN)/python -m tools.readme
	$(BIN)/pytest -q --all --golden tests/test_readme.py -k README

recheck: $(VENV)/ready-to-check  ## scores, sentences and remedies of drawn queries, compared: make recheck TREE=path/to/a/tree
	@test -n "$(TREE)" || { echo "usage: make recheck TREE=path/to/a/tree"; exit 2; }
	$(BIN)/codelens index -q --db "$(VENV)/recheck-$(notdir $(abspath $(TREE))).db" "$(TREE)"
	$(BIN)/python -m tools.bench.recheck "$(VENV)/recheck-$(notdir $(abspath $(TREE))).db"
	$(BIN)/python -m tools.bench.sentences "$(VENV)/recheck-$(notdir $(abspath $(TREE))).db"
	$(BIN)/python -m tools.bench.remedies "$(VENV)/recheck-$(notdir $(abspath $(TREE))).db"

model: $(VENV)/ready-to-check  ## the shipped embedding made anew from its manifest, and compared: make model DATA=folder
	@test -n "$(DATA)" || { echo "usage: make model DATA=folder"; exit 2; }
	$(BIN)/python -m tools.model "$(DATA)"

# EVAL holds tasks.jsonl, commits/*.jsonl, and baseline_ctags.py with the score.py that asks it; a task's tree is TREES/REPO,
# of a commit TREES/REPO-commits. The last two tables are the manual's: A is the baseline, B codelens.
eval: $(VENV)/ready-to-check  ## quality on development tasks: make eval TREES=folder INDEXES=folder EVAL=folder
	@test -n "$(TREES)" -a -n "$(INDEXES)" -a -n "$(EVAL)" || { echo "usage: make eval TREES=folder INDEXES=folder EVAL=folder"; exit 2; }
	mkdir -p "$(INDEXES)"
	set -e; for tree in "$(TREES)"/*/; do tree=$${tree%/}; \
	    $(BIN)/codelens index --no-config --db "$(INDEXES)/$${tree##*/}.db" "$$tree"; done
	$(ASK) "$(EVAL)/tasks.jsonl" --out "$(INDEXES)/tasks.json"
	$(ASK) "$(EVAL)"/commits/*.jsonl --suffix=-commits --same-file --out "$(INDEXES)/commits.json"
	@command -v ctags >/dev/null || { echo "no Universal Ctags: the baseline is left out"; exit 0; }; set -e; \
	for tree in "$(TREES)"/*/; do tree=$${tree%/}; \
	    $(BIN)/python "$(EVAL)/baseline_ctags.py" index "$$tree" "$(INDEXES)/$${tree##*/}.ctags" --body >/dev/null; done; \
	$(SCORE) --tasks "$(EVAL)/tasks.jsonl" --out "$(INDEXES)/baseline.json" --cmd '$(LEXICAL)/{repo}.ctags -- {query}' >/dev/null; \
	$(SCORE) --tasks "$(EVAL)"/commits/*.jsonl --suffix=-commits --same-file --out "$(INDEXES)/baseline-commits.json" \
	    --cmd '$(LEXICAL)/{repo}-commits.ctags -- {query}' >/dev/null; \
	$(BESIDE) "$(INDEXES)/baseline.json" "$(INDEXES)/tasks.json"; echo; \
	$(BESIDE) "$(INDEXES)/baseline-commits.json" "$(INDEXES)/commits.json"

# A clone is CLONES/OWNER+NAME/repo, CLONES/OWNER+NAME or CLONES/NAME, as for the weights. What is in WORK/NAME is replaced.
questions: $(VENV)/ready-to-check  ## the golden questions by kind: make questions CLONES=folder WORK=folder
	@test -n "$(CLONES)" -a -n "$(WORK)" || { echo "usage: make questions CLONES=folder WORK=folder"; exit 2; }
	@mkdir -p "$(WORK)"; set -e; cat tests/questions/repositories-*.tsv | while read -r name repository commit; do \
	    clone=; for place in "$$(echo "$$repository" | tr / +)/repo" "$$(echo "$$repository" | tr / +)" "$${repository##*/}"; do \
	        test -n "$$clone" -o ! -d "$(CLONES)/$$place" || clone="$(CLONES)/$$place"; done; \
	    test -n "$$clone" || { echo "no clone: git clone https://github.com/$$repository $(CLONES)/$${repository##*/}"; exit 2; }; \
	    rm -rf "$(WORK)/$$name"; mkdir "$(WORK)/$$name"; \
	    git -C "$$clone" archive "$$commit" | tar -x -C "$(WORK)/$$name"; \
	    $(BIN)/codelens index -q --no-config --db "$(WORK)/$$name.db" "$(WORK)/$$name"; done
	$(BIN)/codelens eval --no-config --indexes "$(WORK)" tests/questions/*.jsonl --out "$(WORK)/questions.json" \
	    --metrics strict_hit@1,strict_hit@3,strict_hit@10,absent

weights: $(VENV)/ready-to-check  ## the set `task` of the shipped weights learned anew from their manifest: make weights CLONES=folder WORK=folder
	@test -n "$(CLONES)" -a -n "$(WORK)" || { echo "usage: make weights CLONES=folder WORK=folder"; exit 2; }
	$(BIN)/python -m tools.weights --clones "$(CLONES)" --work "$(WORK)" --jobs 2 --folds 5 --sets task --out codelens/weights.toml

clean:
	rm -rf $(VENV) site dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis
