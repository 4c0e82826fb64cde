# SPDX-License-Identifier: Apache-2.0
# Manual pages, the example configuration and the unit file: how they are made, and the checks of
# their contents.
MAN_PAGES := $(patsubst docs/man/%.scd,$(BUILD)/man/%,$(wildcard docs/man/*.scd))

.PHONY: docs check-docs gen-conf
docs: $(MAN_PAGES) ## manual pages
$(BUILD)/man/%: docs/man/%.scd
	@mkdir -p $(@D)
	@$(if $(Q),echo "  MAN     $@")
	$(Q)scdoc <$< >$@

# Generated from the tables of options and policies, and committed.
gen-conf:
	$(Q)scripts/gen-conf conf >config/salus.conf
	$(Q)scripts/gen-conf man >docs/man/salus.conf.5.scd
	$(Q)for page in docs/man/salusctl.1.scd docs/man/salus-sim.1.scd; do \
		scripts/gen-conf page $$page >$$page.new && mv $$page.new $$page || exit 1; done

# scdoc writes a paragraph macro after each heading; no other warning is accepted.
check-docs: $(MAN_PAGES) $(BUILD)/salusd $(BUILD)/salus-serve
	$(Q)scripts/check-docs $(BUILD) $(MAN_PAGES)

# The documents as a static site: build/site/index.html. Drawings that are out of date are drawn again.
.PHONY: site drawings check-site
site: ## the documentation as a static site, in build/site; installs its generator
	$(Q)scripts/setup --site
	$(Q)scripts/docs/site $(BUILD)/site
drawings: ## the pictures of docs/drawings; installs Graphviz and Mscgen
	$(Q)scripts/setup --site
	$(Q)scripts/docs/draw

# A broken link, a broken anchor, a page without a place: each must make it fail.
check-site: ## the documentation builds without a warning, and its links are valid
	$(Q)scripts/setup --site
	$(Q)scripts/docs/site $(BUILD)/site
	$(Q)SITE=$(BUILD)/site $(PYTHON) test/setup/test_built_site.py

# Follows the recipes of CONTRIBUTING.md in a copy of the tree.
.PHONY: check-recipes
check-recipes: $(BUILD)/salusd $(BUILD)/salusctl $(BUILD)/salus-sim ## options, verbs, policies and parameters need only the places that CONTRIBUTING names
	$(Q)CC="$(CC)" scripts/check-recipes $(BUILD)
