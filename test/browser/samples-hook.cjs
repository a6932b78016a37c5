// Sends what a sample's server asks of api.stripe.com to RATCHET_URL. The SDK waits for TLS, which
// is not spoken here, so its event follows the connection's.
const http = require("node:http"), https = require("node:https");
const ratchet = new URL(process.env.RATCHET_URL), original = https.request;
https.request = (options, ...rest) => {
  if (options.host !== "api.stripe.com") return original(options, ...rest);
  const request = http.request({ ...options, protocol: "http:", host: ratchet.hostname, port: ratchet.port, agent: undefined }, ...rest);
  request.once("socket", (socket) => { if (socket.connecting) socket.once("connect", () => socket.emit("secureConnect")); });
  return request;
};
