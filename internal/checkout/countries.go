package checkout

import "strings"

// country is one of the choices of the form.
type country struct{ Code, Name string }

// Where a card's holder may live: what banks call by two letters (ISO 3166-1), in
// the order of the English names.
var allCountries, countries = parseCountries(`
AF Afghanistan, AL Albania, DZ Algeria, AD Andorra, AO Angola, AG Antigua and Barbuda, AR Argentina, AM Armenia,
AU Australia, AT Austria, AZ Azerbaijan, BS Bahamas, BH Bahrain, BD Bangladesh, BB Barbados, BY Belarus, BE Belgium,
BZ Belize, BJ Benin, BM Bermuda, BT Bhutan, BO Bolivia, BA Bosnia and Herzegovina, BW Botswana, BR Brazil,
BN Brunei, BG Bulgaria, BF Burkina Faso, BI Burundi, KH Cambodia, CM Cameroon, CA Canada, CV Cape Verde,
CF Central African Republic, TD Chad, CL Chile, CN China, CO Colombia, KM Comoros, CG Congo - Brazzaville,
CD Congo - Kinshasa, CR Costa Rica, CI Côte d’Ivoire, HR Croatia, CY Cyprus, CZ Czechia, DK Denmark, DJ Djibouti,
DM Dominica, DO Dominican Republic, EC Ecuador, EG Egypt, SV El Salvador, GQ Equatorial Guinea, ER Eritrea,
EE Estonia, SZ Eswatini, ET Ethiopia, FJ Fiji, FI Finland, FR France, GA Gabon, GM Gambia, GE Georgia, DE Germany,
GH Ghana, GI Gibraltar, GR Greece, GL Greenland, GD Grenada, GT Guatemala, GN Guinea, GW Guinea-Bissau, GY Guyana,
HT Haiti, HN Honduras, HK Hong Kong SAR China, HU Hungary, IS Iceland, IN India, ID Indonesia, IQ Iraq, IE Ireland,
IL Israel, IT Italy, JM Jamaica, JP Japan, JO Jordan, KZ Kazakhstan, KE Kenya, KI Kiribati, XK Kosovo, KW Kuwait,
KG Kyrgyzstan, LA Laos, LV Latvia, LB Lebanon, LS Lesotho, LR Liberia, LY Libya, LI Liechtenstein, LT Lithuania,
LU Luxembourg, MO Macao SAR China, MG Madagascar, MW Malawi, MY Malaysia, MV Maldives, ML Mali, MT Malta,
MR Mauritania, MU Mauritius, MX Mexico, MD Moldova, MC Monaco, MN Mongolia, ME Montenegro, MA Morocco,
MZ Mozambique, MM Myanmar, NA Namibia, NR Nauru, NP Nepal, NL Netherlands, NZ New Zealand, NI Nicaragua, NE Niger,
NG Nigeria, MK North Macedonia, NO Norway, OM Oman, PK Pakistan, PS Palestinian Territories, PA Panama,
PG Papua New Guinea, PY Paraguay, PE Peru, PH Philippines, PL Poland, PT Portugal, PR Puerto Rico, QA Qatar,
RO Romania, RU Russia, RW Rwanda, KN St. Kitts and Nevis, LC St. Lucia, VC St. Vincent and the Grenadines, WS Samoa,
SM San Marino, ST São Tomé and Príncipe, SA Saudi Arabia, SN Senegal, RS Serbia, SC Seychelles, SL Sierra Leone,
SG Singapore, SK Slovakia, SI Slovenia, SB Solomon Islands, SO Somalia, ZA South Africa, KR South Korea,
SS South Sudan, ES Spain, LK Sri Lanka, SD Sudan, SR Suriname, SE Sweden, CH Switzerland, TW Taiwan, TJ Tajikistan,
TZ Tanzania, TH Thailand, TL Timor-Leste, TG Togo, TO Tonga, TT Trinidad and Tobago, TN Tunisia, TR Türkiye,
TM Turkmenistan, TV Tuvalu, UG Uganda, UA Ukraine, AE United Arab Emirates, GB United Kingdom, US United States,
UY Uruguay, UZ Uzbekistan, VU Vanuatu, VA Vatican City, VE Venezuela, VN Vietnam, YE Yemen, ZM Zambia, ZW Zimbabwe`)

func parseCountries(text string) (all []country, names map[string]string) {
	names = map[string]string{}
	for _, entry := range strings.Split(strings.ReplaceAll(strings.TrimSpace(text), ",\n", ", "), ", ") {
		code, name, _ := strings.Cut(entry, " ")
		all, names[code] = append(all, country{code, name}), name
	}
	return all, names
}
