// Command templates formats the templates of the pages, or says which of them are not formatted. Those on the list
// unformatted are left alone: take one off the list, and write it.
//
//	go run ./test/templates       # as make lint does
//	go run ./test/templates -w    # writes them
package main

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	write := flag.Bool("w", false, "write the files")
	flag.Parse()
	dirs := flag.Args()
	if len(dirs) == 0 {
		dirs = []string{"web/templates"}
	}
	wrong := 0
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || filepath.Ext(path) != ".html" {
				return err
			}
			source, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			formatted := Format(string(source))
			if formatted == string(source) || isUnformatted(path) {
				return nil
			}
			if *write {
				return os.WriteFile(path, []byte(formatted), 0o644)
			}
			wrong++
			fmt.Println(path)
			return nil
		})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	if wrong > 0 {
		fmt.Fprintf(os.Stderr, "%d templates are not formatted: run go run ./test/templates -w\n", wrong)
		os.Exit(1)
	}
}

// unformatted are templates that are still written in long lines. The list only gets shorter.
var unformatted = strings.Fields(`
	apinav buyer chart checkout/away checkout/bank checkout/challenge checkout/charge checkout/closed
	checkout/done checkout/expired checkout/form checkout/frame checkout/missing checkout/noreceipt
	checkout/receipt checkout/wait components dashboard/account dashboard/activity dashboard/again
	dashboard/balance dashboard/charts dashboard/clock dashboard/code dashboard/create dashboard/creation
	dashboard/customer dashboard/customers dashboard/delivery dashboard/dispute dashboard/disputes
	dashboard/email dashboard/emails dashboard/event dashboard/events dashboard/idempotency dashboard/kept
	dashboard/keys dashboard/killed dashboard/ledger dashboard/link dashboard/links dashboard/login
	dashboard/overview dashboard/payment dashboard/payments dashboard/payout dashboard/payouts dashboard/posting
	dashboard/problem dashboard/product dashboard/products dashboard/refunds dashboard/request
	dashboard/requests dashboard/search dashboard/session dashboard/sessions dashboard/story dashboard/totp
	dashboard/users dashboard/webhook dashboard/webhooks dashboard/workers docnav lab lab/design lab/free
	lab/matrix lab/run lab/stop layout shop shop/cart shop/order shop/pay shop/problem shop/shelf site/docs
	site/document site/errors site/find site/front site/missing site/ran site/reference site/resource
	site/source site/stop stripejs stripejs/controller stripejs/elements-inner-address
	stripejs/elements-inner-card stripejs/elements-inner-card-part stripejs/elements-inner-currency-selector
	stripejs/elements-inner-link-authentication stripejs/elements-inner-payment
	stripejs/elements-inner-unavailable stripejs/three-ds-2-challenge timeline
`)

func isUnformatted(path string) bool {
	return slices.ContainsFunc(unformatted, func(name string) bool {
		return strings.HasSuffix(filepath.ToSlash(path), "templates/"+name+".html")
	})
}
