package api

import (
	"net/http"
	"slices"
	"strings"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/apikey"
)

// Resources are what a restricted key can be allowed, each once, in the order of
// routes.go: the first words of the addresses. /v1/account is one of the accounts.
func Resources() []string { return resources(routes()) }

func resources(all []route) (found []string) {
	for _, rt := range all {
		if first := words(rt.path)[0]; !slices.Contains(found, first) {
			found = append(found, first)
		}
	}
	return slices.DeleteFunc(found, func(name string) bool { return slices.Contains(found, name+"s") })
}

// words are what an address consists of, but for the version and the variables.
func words(path string) []string {
	return slices.DeleteFunc(strings.Split(path, "/")[2:], func(word string) bool {
		return strings.HasPrefix(word, "{")
	})
}

// resourceOf is the last resource that an address names: money that goes back by
// /v1/charges/{charge}/refunds is a refund.
func resourceOf(path string, all []string) (found string) {
	for _, word := range words(path) {
		for _, name := range [...]string{word, word + "s"} {
			if slices.Contains(all, name) {
				found = name
			}
		}
	}
	return found
}

// permissions know what a restricted key needs for what.
type permissions struct {
	resources []string
	homes     map[string]string // the resource of each kind of object: "card": "customers"
}

func newPermissions(all []route) permissions {
	p := permissions{resources(all), map[string]string{}}
	for _, rt := range all {
		if _, known := p.homes[rt.kind]; !known && rt.method == http.MethodGet {
			p.homes[rt.kind] = resourceOf(rt.path, p.resources)
		}
	}
	return p
}

// check refuses what the key's permissions do not cover: to write where the
// address says so, to read what else the answer is to show. Kinds that have no
// address are part of another object, and an empty list shows nothing of an account.
func (p permissions) check(h *apikey.Credential, rt *route, shown []string) error {
	if h.Kind != apikey.Restricted || rt.empty {
		return nil
	}
	need := apikey.Write
	if rt.method == http.MethodGet {
		need = apikey.Read
	}
	if resource := resourceOf(rt.path, p.resources); !h.Permissions.Allow(resource, need) {
		return notPermitted(h, resource, need)
	}
	for _, kind := range shown {
		if resource, is := p.homes[kind]; is && !h.Permissions.Allow(resource, apikey.Read) {
			return notPermitted(h, resource, apikey.Read)
		}
	}
	return nil
}

func notPermitted(h *apikey.Credential, resource string, need apikey.Level) error {
	e := apierror.Invalid("",
		"The provided key '%s' does not have the required permissions for this endpoint on account '%s'. "+
			"Having the 'rak_%s_%s' permission would allow this request to continue.", h.Display, h.AccountID,
		strings.TrimSuffix(resource, "s"), need)
	e.Status = http.StatusForbidden
	return e
}
