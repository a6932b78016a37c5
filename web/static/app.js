// Everything on these pages works without this file. What it adds is comfort:
// light-DOM custom elements around markup that the server has already written.
import "./theme.js";
import "./copy.js";
import "./chart.js";
import "./time.js";
import "./palette.js";
import "./find.js";
import "./languages.js";
import "./frame.js";
import "./live.js";
import "./rows.js";
import "./menu.js";
import "./side.js";
import "./once.js";
