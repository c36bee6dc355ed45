# Front door: `make` alone lists the targets. Needs git, make and python3-venv; the rest is installed.
.DEFAULT_GOAL := help
BOOTSTRAP := sh tools/bootstrap.sh
PYTHON := .venv/bin/python

.PHONY: help run test test-vllm check lint shots bench lock icons translations desktop-entry clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: ## Install, fetch the starter model, open the app (in the terminal when there is no display)
	@$(BOOTSTRAP) run

test: ## Install what the tests need and run all of them
	@$(BOOTSTRAP) test

test-vllm: ## Create a real vLLM for the CPU in .vllm (2.1 GB) and run its tests; make test then does, too
	@$(BOOTSTRAP) test-vllm

check: ## Format, lint, types, imports, translations, then all tests
	@$(BOOTSTRAP) lint
	@$(BOOTSTRAP) test

lint: ## The same without the tests
	@$(BOOTSTRAP) lint

shots: ## Screenshots of every page, English and Chinese, light and dark, into shots/
	@$(BOOTSTRAP) shots

bench: ## Print the figures: start, memory, engine start, tokens per second
	@$(BOOTSTRAP) bench

desktop-entry: ## Add the app to your application menu, for a double-click
	@$(BOOTSTRAP) install
	@$(PYTHON) packaging/linux/desktop_entry.py

translations: ## Collect the window's strings and compile the translations
	@$(PYTHON) tools/translations.py update
	@$(PYTHON) tools/translations.py release

icons: ## Make PNG, ICO and ICNS from assets/app/icon.svg
	@$(BOOTSTRAP) develop
	@$(PYTHON) tools/icons.py

lock: ## Pin app, tests and starter with hashes, for every system and Python (needs uv)
	@sh tools/lock.sh

clean: ## Remove what the other targets made in this folder
	rm -rf .venv .run build shots *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
