# The two commands are `make run` and `make test`; the others are for work on the code.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: setup setup-dev run test browser check fmt messages

setup:
	@$(PYTHON) arise_site/bootstrap.py requirements.txt

setup-dev:
	@$(PYTHON) arise_site/bootstrap.py requirements-dev.txt

run: setup
	@$(BIN)/python manage.py up --with-parent

test: setup-dev
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "not browser"

# pytest exits with 5 where it finds no tests at all.
browser: setup-dev
	$(BIN)/python -m pytest -m browser || test $$? -eq 5

check: setup-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	$(BIN)/mypy arise_site bench botgateway core skills stickers tests manage.py
	$(BIN)/python manage.py check --fail-level WARNING
	DJANGO_SETTINGS_MODULE=tests.settings_offline $(BIN)/python manage.py makemigrations --check --dry-run

fmt: setup-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Takes new words of the code into locale/, and compiles it; translate what it names, then run it again.
messages: setup-dev
	DJANGO_SETTINGS_MODULE=tests.settings_offline $(BIN)/python -m tests.catalogue
