package main

import (
	"net/netip"
	"strings"
)

// trustedProxies reads a list of addresses and networks. It refuses a network that is
// everything: then a client could make up any address, and would meet no limit.
func trustedProxies(list string) (trusted []netip.Prefix, err error) {
	for text := range strings.SplitSeq(list, ",") {
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		network, err := netip.ParsePrefix(text)
		if address, notAddress := netip.ParseAddr(text); err != nil && notAddress == nil {
			network, err = address.WithZone("").Prefix(address.BitLen())
		}
		if err != nil || network.Bits() == 0 || network.Addr().Is4In6() {
			return nil, usagef("--trusted-proxies takes addresses and networks of proxies, such as "+
				"10.0.0.0/8,192.0.2.7, not %q", text)
		}
		trusted = append(trusted, network.Masked())
	}
	return trusted, nil
}
