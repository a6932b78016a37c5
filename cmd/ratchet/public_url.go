package main

import (
	"net"
	"net/url"
	"strings"
)

// publicURL is where browsers find this installation. Links to the pages are built from it. It may
// be left out where only this machine reaches the server: then the Host of a request, which any client
// can make up, is known to name this machine.
func publicURL(given string, at net.Addr) (string, error) {
	if given == "" {
		if !onLoopback(at) {
			return "", usagef("%s is reachable from other machines, so links must not depend on the Host header: "+
				"set --public-url (RATCHET_PUBLIC_URL), such as https://pay.example.com", at)
		}
		return "", nil
	}
	u, err := url.Parse(given)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil ||
		u.RawQuery != "" || u.Fragment != "" {
		return "", usagef("--public-url %s is not a URL such as https://pay.example.com", given)
	}
	return strings.TrimRight(given, "/"), nil
}

// onLoopback says whether only this machine reaches an address.
func onLoopback(at net.Addr) bool {
	address, is := at.(*net.TCPAddr)
	return is && address.IP.IsLoopback()
}
