package apitest

import (
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stripe/stripe-mock/embedded"
)

func TestAgainstStripe(t *testing.T) {
	t.Parallel()

	t.Run("every operation of ours is one of Stripe's", func(t *testing.T) {
		t.Parallel()
		for _, r := range routes() {
			if slices.Contains(undocumented, r.stripeName()) {
				continue
			}
			if schema := stripes().schemas[r.stripeName()]; schema == nil || schema.Value.IsEmpty() {
				t.Errorf("Stripe has no %s", r.stripeName())
			}
		}
	})

	t.Run("every parameter of ours is one of Stripe's", func(t *testing.T) {
		t.Parallel()
		// A filter that costs nothing, and that the other lists have too; and a parameter of older versions.
		// A customer's cards have an old address, which takes what the present one takes.
		beyond := map[string][]string{
			"card.list":          {"created"},
			"old_card.list":      {"created", "object"},
			"charge.refund.list": {"created"},
			"test_clock.list":    {"created"},
			"product.create":     {"type"},
		}
		for _, r := range routes() {
			if slices.Contains(undocumented, r.stripeName()) {
				continue
			}
			for _, p := range r.parameters() {
				name, _, _ := strings.Cut(p.Name, "[")
				if !slices.Contains(stripes().params[r.stripeName()], name) &&
					!slices.Contains(beyond[r.operation.OperationID], name) {
					t.Errorf("%s: Stripe does not take %s", r.operation.OperationID, name)
				}
			}
		}
	})

	t.Run("every object has all fields of Stripe's, and charge.source", func(t *testing.T) {
		t.Parallel()
		for _, object := range []string{
			"account", "address", "balance", "balance_transaction", "billing_details", "card", "charge",
			"charge_outcome", "customer", "deleted_card", "deleted_customer", "event", "refund", "shipping", "token",
		} {
			ours := slices.Sorted(maps.Keys(document().Components.Schemas[object].Value.Properties))
			stripes := slices.Sorted(maps.Keys(stripes().schemas[object].Value.Properties))
			if !slices.Equal(ours, stripes) {
				t.Errorf("%s:\n ours     %v\n Stripe's %v", object, ours, stripes)
			}
		}
		ours := slices.Sorted(
			maps.Keys(document().Components.Schemas["error"].Value.Properties["error"].Value.Properties))
		stripes := slices.Sorted(maps.Keys(stripes().schemas["api_errors"].Value.Properties))
		if !slices.Equal(ours, stripes) {
			t.Errorf("error:\n ours     %v\n Stripe's %v", ours, stripes)
		}
	})

	t.Run("its own samples pass its schema, closed as it is here, so a failure is ours", func(t *testing.T) {
		t.Parallel()
		var samples struct{ Resources map[string]map[string]any }
		mustDecode("Stripe's samples", embedded.OpenAPIFixtures, &samples)
		delete(samples.Resources["charge"], "source") // of a kind that only other countries have
		for _, object := range []string{"balance", "balance_transaction", "card", "charge", "customer", "event",
			"refund", "token"} {
			for _, v := range visit(RuleStripe, "", stripes().schemas[object].Value, samples.Resources[object]) {
				t.Errorf("%s: %s", object, v)
			}
			if len(stripes().samples[object]) == 0 {
				t.Errorf("there is no sample of %s", object)
			}
		}
	})
}

func TestOnlyTestsImportTheChecker(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (strings.HasPrefix(entry.Name(), ".") && path != root || entry.Name() == "node_modules") {
			return filepath.SkipDir
		}
		if filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") || isTestPackage(filepath.Dir(path)) {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if os.IsNotExist(err) {
			return nil // a file that went away while we looked
		}
		if err != nil {
			return err
		}
		for _, spec := range file.Imports {
			imported := strings.Trim(spec.Path.Value, `"`)
			if strings.HasPrefix(imported, "github.com/stripe/stripe-mock") ||
				strings.HasSuffix(imported, "internal/apitest") {
				t.Errorf("%s imports %s", path, imported)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// isTestPackage says whether a package is there for tests: apitest, pgtest and their like.
func isTestPackage(dir string) bool { return strings.HasSuffix(dir, "test") }
