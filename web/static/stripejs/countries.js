// Countries by their codes, in the reader's language, and the states of those that ask for one.
const codes = ("AD AE AR AT AU BE BG BR CA CH CL CN CO CY CZ DE DK EE EG ES FI FR GB GR HK HR HU ID IE IL IN IS IT JP KE KR LI LT LU LV MA MC MT MX MY NG NL NO NZ PE PH PL PT RO RS SA SE SG SI SK TH TR TW UA US VN ZA").split(" ");
const states = {
  US: { AL: "Alabama", AK: "Alaska", AZ: "Arizona", AR: "Arkansas", CA: "California", CO: "Colorado", CT: "Connecticut", DE: "Delaware", DC: "District of Columbia", FL: "Florida", GA: "Georgia", HI: "Hawaii", ID: "Idaho", IL: "Illinois", IN: "Indiana", IA: "Iowa", KS: "Kansas", KY: "Kentucky", LA: "Louisiana", ME: "Maine", MD: "Maryland", MA: "Massachusetts", MI: "Michigan", MN: "Minnesota", MS: "Mississippi", MO: "Missouri", MT: "Montana", NE: "Nebraska", NV: "Nevada", NH: "New Hampshire", NJ: "New Jersey", NM: "New Mexico", NY: "New York", NC: "North Carolina", ND: "North Dakota", OH: "Ohio", OK: "Oklahoma", OR: "Oregon", PA: "Pennsylvania", RI: "Rhode Island", SC: "South Carolina", SD: "South Dakota", TN: "Tennessee", TX: "Texas", UT: "Utah", VT: "Vermont", VA: "Virginia", WA: "Washington", WV: "West Virginia", WI: "Wisconsin", WY: "Wyoming" },
  CA: { AB: "Alberta", BC: "British Columbia", MB: "Manitoba", NB: "New Brunswick", NL: "Newfoundland and Labrador", NS: "Nova Scotia", NT: "Northwest Territories", NU: "Nunavut", ON: "Ontario", PE: "Prince Edward Island", QC: "Quebec", SK: "Saskatchewan", YT: "Yukon" },
};

// postal are the countries whose banks compare a postal code.
const postal = ["US", "GB", "CA", "PR"];
export const asksPostal = (country) => postal.includes(country);
export const statesOf = (country) => states[country];

const options = (entries) => entries.map(([value, text]) => new Option(text, value));

export function fillCountries(select, locale = "en", allowed) {
  let names;
  try { names = new Intl.DisplayNames([locale, "en"], { type: "region" }); } catch { names = new Intl.DisplayNames(["en"], { type: "region" }); }
  const all = codes.filter((code) => !allowed?.length || allowed.includes(code)).map((code) => [code, names.of(code)]);
  select.replaceChildren(...options(all.sort((a, b) => a[1].localeCompare(b[1]))));
}

export function fillStates(select, country) {
  const found = states[country];
  select.replaceChildren(...options(found ? [["", ""], ...Object.entries(found)] : []));
}

// homeOf is the country that a reader is most likely in.
export const homeOf = (locale = "en-US") => (locale.split(/[-_]/)[1] ?? "US").toUpperCase();
