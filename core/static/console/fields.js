// Puts right what fields of Django's and the theme's lack; on every page.

// The theme writes the name of a chosen file into its own field, and fails where there is none.
function leaveOurFileFields() {
  for (const input of document.querySelectorAll("input[type=file]")) {
    if (!input.parentNode.parentNode.parentNode.querySelector("input[type=text]")) {
      input.hasChangeListener = true;
    }
  }
}

// Fields to search and choose from say nothing of what they are for to who does not see them.
function nameChoices() {
  for (const select of document.querySelectorAll("select.admin-autocomplete")) {
    const label = document.querySelector(`label[for="${select.id}"]`);
    const shown = select.nextElementSibling;
    if (!label || !shown) continue;
    for (const part of shown.querySelectorAll("[role=combobox], [role=textbox], [role=searchbox]")) {
      part.removeAttribute("aria-labelledby");
      part.setAttribute("aria-label", label.textContent.trim());
    }
    for (const list of shown.querySelectorAll("ul")) {
      list.setAttribute("role", "presentation");
    }
  }
  for (const icon of document.querySelectorAll(".search-label-icon")) {
    icon.setAttribute("role", "img");
  }
}

document.addEventListener("DOMContentLoaded", leaveOurFileFields);
// Django makes these fields when all is loaded, in whatever order.
window.addEventListener("load", () => setTimeout(nameChoices));
