// How a merchant wants a frame to look: `appearance` of Elements, and `style` of the card elements.
// Only names that are listed here pass, and only values that load nothing: the frame is ours.
const variables = ["colorPrimary", "colorBackground", "colorText", "colorTextSecondary", "colorTextPlaceholder", "colorDanger", "fontFamily", "fontSizeBase", "fontWeightNormal", "spacingUnit", "borderRadius"];
const properties = ["backgroundColor", "border", "borderColor", "borderRadius", "borderWidth", "boxShadow", "color", "fontFamily", "fontSize", "fontSmoothing", "fontStyle", "fontVariant", "fontWeight",
  "letterSpacing", "lineHeight", "margin", "opacity", "outline", "padding", "textAlign", "textDecoration", "textShadow", "textTransform"];
const selector = /^\.(Input|Label|Tab|TabLabel|Error|Field|Block)(--[a-z]+)?(:(hover|focus|disabled|autofill)|::(placeholder|selection))*$/;
const loads = /url|image|expression|attr|var\(|env\(|[;{}\\@<>]/i;

const dashed = (name) => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
const safe = (property, value) => ["string", "number"].includes(typeof value) && !loads.test(value) && CSS.supports(dashed(property), String(value));

// rule writes one rule with what is allowed of a merchant's.
function rule(at, wanted) {
  const body = Object.entries(wanted).filter(([name, value]) => properties.includes(name) && safe(name, value)).map(([name, value]) => `${dashed(name)}: ${value};`);
  return body.length ? `${at} { ${body.join(" ")} }` : "";
}

const kinds = { fontFamily: "fontFamily", fontSizeBase: "fontSize", fontWeightNormal: "fontWeight", spacingUnit: "width", borderRadius: "borderRadius" };

const own = new CSSStyleSheet(), styled = new CSSStyleSheet();
document.adoptedStyleSheets = [own, styled];

export function appear({ theme, variables: wanted = {}, rules = {} } = {}) {
  document.documentElement.dataset.theme = theme === "night" ? "night" : "stripe";
  const root = document.documentElement.style;
  root.cssText = "";
  for (const name of variables) {
    if (wanted[name] !== undefined && safe(kinds[name] ?? "color", wanted[name])) root.setProperty(`--${name}`, wanted[name]);
  }
  const states = { "--invalid": '[aria-invalid="true"]', "--selected": '[aria-selected="true"]' };
  own.replaceSync(Object.entries(rules).filter(([at]) => selector.test(at))
    .map(([at, body]) => rule(at.replace(/--[a-z]+/, (state) => states[state] ?? ""), body)).join("\n"));
}

// style is that of the card elements: base, complete, empty and invalid, with states in each.
export function style(wanted = {}) {
  const rules = [], at = { base: ".input", complete: ".input.complete", empty: ".input.empty", invalid: '.input[aria-invalid="true"]' };
  for (const [state, where] of Object.entries(at)) {
    const { ...body } = wanted[state] ?? {};
    if (state === "base") rules.push(rule(".line", pick(body, ["fontFamily", "fontSize", "color", "lineHeight"])));
    rules.push(rule(where, body));
    for (const pseudo of [":hover", ":focus", "::placeholder", "::selection", ":disabled"]) {
      if (body[pseudo] && typeof body[pseudo] === "object") rules.push(rule(where + pseudo, body[pseudo]));
    }
  }
  styled.replaceSync(rules.join("\n"));
}

const pick = (from, names) => Object.fromEntries(names.filter((n) => from[n] !== undefined).map((n) => [n, from[n]]));
