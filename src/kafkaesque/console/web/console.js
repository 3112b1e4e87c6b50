// What every page does without the server: the theme, and the key that jumps to the filter.

const KEY = "kafkaesque-theme";
const dark = matchMedia("(prefers-color-scheme: dark)");

function applyTheme() {
  const chosen = localStorage.getItem(KEY) ?? (dark.matches ? "dark" : "light");
  document.documentElement.dataset.theme = chosen;
}

window.switchTheme = () => {
  const next = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
  localStorage.setItem(KEY, next);
  applyTheme();
};

dark.addEventListener("change", applyTheme);
applyTheme();

document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input, textarea, select")) return;
  const field = document.querySelector("[data-shortcut='/'], .k-filter");
  if (!field) return;
  event.preventDefault();
  field.focus();
});
