// The page is whole without this: it sorts, filters, looks columns up, and changes the light.
(function () {
  "use strict";
  var root = document.documentElement;
  root.classList.add("js");

  var theme = document.getElementById("theme");
  theme.addEventListener("click", function () {
    var dark = root.dataset.theme
      ? root.dataset.theme === "dark"
      : window.matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });

  function value(row, column) {
    var cell = row.cells[column];
    var sorted = cell.dataset.v;
    if (sorted === undefined) return cell.textContent.toLowerCase();
    return sorted === "" ? Infinity : Number(sorted);
  }

  document.querySelectorAll("table.sorted").forEach(function (table) {
    var heads = Array.from(table.tHead.rows[0].cells);
    heads.forEach(function (head, column) {
      var button = document.createElement("button");
      button.type = "button";
      while (head.firstChild) button.appendChild(head.firstChild);
      head.appendChild(button);
      button.addEventListener("click", function () {
        var down = head.getAttribute("aria-sort") === "ascending";
        heads.forEach(function (other) { other.removeAttribute("aria-sort"); });
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        var body = table.tBodies[0];
        var rows = Array.from(body.rows).map(function (row, k) { return [value(row, column), k, row]; });
        rows.sort(function (a, b) {
          var order = a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0;
          return (down ? -order : order) || a[1] - b[1];
        });
        var all = document.createDocumentFragment();
        rows.forEach(function (row) { all.appendChild(row[2]); });
        body.appendChild(all);
      });
    });
  });

  document.querySelectorAll("input[data-filters]").forEach(function (input) {
    var target = document.getElementById(input.dataset.filters);
    var count = document.getElementById(input.dataset.count);
    var items = Array.from(target.tBodies ? target.tBodies[0].rows : target.children);
    var texts = items.map(function (item) {
      return (item.querySelector("h3, td.name") || item).textContent.toLowerCase();
    });
    input.addEventListener("input", function () {
      var word = input.value.trim().toLowerCase();
      var left = 0;
      items.forEach(function (item, k) {
        var shown = texts[k].indexOf(word) >= 0;
        item.hidden = !shown;
        left += shown;
      });
      count.textContent = word ? left + " of " + items.length : "";
    });
  });

  var find = document.getElementById("find");
  if (find) {
    var matches = document.getElementById("matches");
    var all = null;
    find.addEventListener("input", function () {
      if (!all) {
        all = JSON.parse(document.getElementById("all").textContent);
        all.lower = all.names.map(function (name) { return name.toLowerCase(); });
      }
      var word = find.value.trim().toLowerCase();
      matches.replaceChildren();
      if (!word) return;
      var exact = all.lower.indexOf(word);
      var places = exact >= 0 ? [exact] : [];
      for (var k = 0; k < all.names.length && places.length < 8; k++) {
        if (k !== exact && all.lower[k].indexOf(word) >= 0) places.push(k);
      }
      places.forEach(function (k) {
        var item = document.createElement("li");
        item.textContent = all.names[k] + ": rank " + (k + 1).toLocaleString("en") + " of " +
          all.total.toLocaleString("en") + ", chosen in " + (all.chosen[k] || 0) + " of " +
          all.splits + " splits";
        matches.appendChild(item);
      });
      if (!places.length) {
        var none = document.createElement("li");
        none.textContent = "no column" + (all.names.length < all.total
          ? " among the first " + all.names.length.toLocaleString("en") : "") + " has that in its name";
        matches.appendChild(none);
      }
    });
  }
})();
