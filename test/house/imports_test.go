package house_test

import (
	"go/ast"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/ratchet-pay/ratchet/"

// floors is how high each package lives. A package imports only what lives
// further down, so the ledger cannot learn of charges, nor the engine of money.
var floors = map[string]int{
	"cmd/ratchet":     90,
	"cmd/ratchet-lab": 90,

	"internal/lab/runner": 85, // kills the parts of both

	"internal/demo": 80,

	"internal/demo/shop": 75, // a client of the API: it must not know how that is made

	"internal/process": 70,

	"internal/dashboard":            64,
	"internal/dashboard/sales":      63,
	"internal/dashboard/developers": 63,
	"internal/dashboard/ui":         62, // what their pages share

	"internal/login":    61, // lets people into the pages above it
	"internal/docsite":  61,
	"internal/checkout": 61, // pages: each is a client of the API
	"internal/stripejs": 61,

	"internal/lab/page": 55,

	"internal/api":     60,
	"internal/verify":  60, // the worker calls it through a function that it is given
	"internal/privacy": 60,

	"internal/inspect": 59,
	"internal/worker":  59,

	// The objects of the API. An object's package may show what lies below it.
	"internal/operation":   58,
	"internal/adoption":    57,
	"internal/session":     57,
	"internal/dispute":     57,
	"internal/payout":      57,
	"internal/challenge":   57,
	"internal/endpoint":    57,
	"internal/stripecli":   57,
	"internal/setupintent": 56,
	"internal/payment":     55,
	"internal/catalog":     55,
	"internal/customer":    54,
	"internal/balance":     53,
	"internal/account":     52,
	"internal/event":       51,
	"internal/resource":    50, // what all of them share; it knows none

	"internal/webhook": 45,
	"internal/inbox":   45,

	"internal/acquirer/simulator": 41, // speaks the port's protocol from the acquirer's side
	"internal/daysum":             41, // knows from the ledger which transactions have ended
	"internal/textindex":          41, // does, too
	"internal/ledger":             40,
	"internal/audit":              40,
	"internal/retention":          40,
	"internal/acquirer":           40,

	"internal/lab/consumer": 58, // what the inbox and the engine do with messages of a queue
	"internal/lab/design":   45, // knows the acquirer's protocol, and nothing of Ratchet

	"internal/telemetry": 35, // watches the engine

	"internal/people": 41, // as apikey does
	"internal/apikey": 41, // what is done to a key and its audit row are one transaction

	"internal/apirequest": 32, // what our API adds to a request of the engine

	"internal/phase":                   30,
	"internal/phase/internal/testonly": 0,

	"internal/lab": 21, // describes: it starts nothing

	"web": 21, // looks only: it knows money's notation, and no table

	"internal/idempotency": 20,

	"internal/apiversion": 15,
	"internal/recent":     15, // what the API keeps in memory for the pages

	"internal/postgres/local": 11,
	"internal/postgres":       10,
	"internal/form":           10,
	"internal/locale":         15, // what buyers read: texts, amounts and dates
	"internal/money":          10,
	"internal/testcard":       10,
	"internal/crashpoint":     10,
	"internal/limit":          10,

	"internal/lab/redis":  0,
	"internal/lab/raster": 0,
	"internal/lab/mutant": 0,
	"internal/lab/binary": 0,

	"internal/supervisor": 0, // by which the demo's pages reach the demo

	"internal/apierror": 0,
	"internal/logline":  0,
	"internal/id":       0,
	"internal/secret":   0,
	"internal/wire":     0,
	"internal/port":     0,
	"api":               0,
	"migrations":        0,
	"docs":              0,
}

// onlyForTests are packages that no program may import: they are on no level.
var onlyForTests = []string{"internal/pgtest", "internal/pgtest/cmd/testserver", "internal/apitest",
	"internal/testapp", "web/webtest", "internal/acquirer/acquirertest", "internal/phase/phasetest"}

func TestImportsPointDown(t *testing.T) {
	t.Parallel()
	all := sources(t, "internal", "cmd", "api", "migrations", "web", "docs")
	for _, s := range all {
		if slices.Contains(onlyForTests, s.dir) {
			continue
		}
		floor, known := floors[s.dir]
		if !known {
			t.Errorf("%s: the package %s has no floor: say in imports_test.go where it lives", s.path, s.dir)
			continue
		}
		for _, path := range imports(s.file) {
			below, ours := strings.CutPrefix(path, module)
			if !ours {
				continue
			}
			if f, known := floors[below]; !known || f >= floor {
				t.Errorf("%s imports %s, which does not live below it", s.path, below)
			}
		}
	}
}

func TestLevelsListExistingPackages(t *testing.T) {
	t.Parallel()
	all := sources(t, "internal", "cmd", "api", "migrations", "web", "docs")
	for dir := range floors {
		if !slices.ContainsFunc(all, func(s source) bool { return s.dir == dir }) {
			t.Errorf("package %s not found", dir)
		}
	}
}

func TestRestrictedImports(t *testing.T) {
	t.Parallel()
	all := sources(t, "internal", "cmd")

	t.Run("only internal/api and the lab's designs know the web framework", func(t *testing.T) {
		t.Parallel()
		for _, s := range all {
			if s.dir != "internal/api" &&
				s.dir != "internal/lab/design" && slices.ContainsFunc(imports(s.file), func(path string) bool {
				return strings.HasPrefix(path, "github.com/labstack/echo")
			}) {
				t.Errorf("%s imports echo", s.path)
			}
		}
	})

	t.Run("the ledger, the engine, the keys and the acquirer know nothing of payments", func(t *testing.T) {
		t.Parallel()
		for _, s := range all {
			top := strings.Join(strings.SplitN(s.dir+"//", "/", 3)[:2], "/")
			below := []string{"internal/ledger", "internal/phase", "internal/idempotency", "internal/acquirer"}
			if slices.Contains(below, top) && slices.ContainsFunc(imports(s.file), isObject) &&
				s.dir != "internal/acquirer/acquirertest" {
				t.Errorf("%s imports objects of the API", s.path)
			}
		}
	})

	t.Run("the engine can be used alone: it knows no API, no account and no money", func(t *testing.T) {
		t.Parallel()
		may := []string{"internal/idempotency", "internal/postgres", "internal/id", "internal/secret",
			"internal/phase/internal/testonly"}
		for _, s := range all {
			if s.dir != "internal/phase" && s.dir != "internal/idempotency" || strings.HasSuffix(s.path, "_test.go") {
				continue
			}
			for _, path := range imports(s.file) {
				below, ours := strings.CutPrefix(path, module)
				if ours && !slices.Contains(may, below) {
					t.Errorf("%s imports %s", s.path, below)
				}
			}
		}
	})

	t.Run("the shop knows of us what any merchant does, and how to open a database, sign and draw", func(t *testing.T) {
		t.Parallel()
		may := []string{"internal/id", "internal/postgres", "internal/secret", "web"}
		for _, s := range all {
			for _, path := range imports(s.file) {
				below, ours := strings.CutPrefix(path, module)
				if s.dir == "internal/demo/shop" && ours && !slices.Contains(may, below) {
					t.Errorf("%s imports %s", s.path, below)
				}
			}
		}
	})

	t.Run("the program ratchet carries nothing of the lab but its description", func(t *testing.T) {
		t.Parallel()
		may := []string{"internal/lab", "internal/lab/binary", "internal/lab/page"}
		for _, s := range all {
			if strings.HasPrefix(s.dir, "internal/lab") || s.dir == "cmd/ratchet-lab" {
				continue
			}
			for _, path := range imports(s.file) {
				below, ours := strings.CutPrefix(path, module)
				if ours && strings.HasPrefix(below, "internal/lab") && !slices.Contains(may, below) {
					t.Errorf("%s imports %s", s.path, below)
				}
			}
		}
	})

	t.Run("only packages that have to reach for the network", func(t *testing.T) {
		t.Parallel()
		mayDial := []string{"internal/api", "internal/acquirer", "internal/acquirer/simulator", "internal/webhook",
			"internal/demo", "internal/postgres/local", "internal/pgtest", "internal/apitest", "internal/testapp",
			"internal/crashpoint", "internal/demo/shop", "internal/telemetry", "cmd/ratchet",
			"internal/lab/consumer", "internal/lab/design", "internal/lab/redis", "internal/lab/runner",
			"internal/lab/page", "internal/supervisor"}
		for _, s := range all {
			if slices.Contains(mayDial, s.dir) {
				continue
			}
			for _, name := range used(s.file, "net/http", "Client", "DefaultClient", "Transport", "DefaultTransport",
				"Get", "Post", "PostForm", "Head", "NewRequest", "NewRequestWithContext") {
				t.Errorf("%s uses http.%s", s.path, name)
			}
			for _, name := range used(s.file, "net", "Dial", "DialTimeout", "Dialer", "DialTCP", "DialUDP", "DialUnix",
				"DialIP") {
				t.Errorf("%s uses net.%s", s.path, name)
			}
		}
	})

	t.Run("only phasetest makes permits that no engine made", func(t *testing.T) {
		t.Parallel()
		for _, s := range all {
			for range used(s.file, module+"internal/phase", "PermitForTest") {
				if s.dir != "internal/phase/phasetest" {
					t.Errorf("%s uses phase.PermitForTest", s.path)
				}
			}
		}
	})

	t.Run("nobody asks pgconn.SafeToRetry, which answers another question", func(t *testing.T) {
		t.Parallel()
		for _, s := range all {
			for range used(s.file, "github.com/jackc/pgx/v5/pgconn", "SafeToRetry") {
				t.Errorf("%s uses pgconn.SafeToRetry", s.path)
			}
		}
	})
}

func imports(file *ast.File) (paths []string) {
	for _, spec := range file.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err == nil {
			paths = append(paths, path)
		}
	}
	return paths
}

// used is which of an imported package's names a file mentions, under any
// name the package goes there.
func used(file *ast.File, path string, names ...string) (found []string) {
	qualifier := ""
	for _, spec := range file.Imports {
		if spec.Path.Value != strconv.Quote(path) {
			continue
		}
		qualifier = path[strings.LastIndex(path, "/")+1:]
		if spec.Name != nil {
			qualifier = spec.Name.Name
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		selector, is := n.(*ast.SelectorExpr)
		if !is {
			return true
		}
		x, is := selector.X.(*ast.Ident)
		if is && x.Name == qualifier && slices.Contains(names, selector.Sel.Name) {
			found = append(found, selector.Sel.Name)
		}
		return true
	})
	return found
}

// isObject says whether a path is that of a package of API objects.
func isObject(path string) bool {
	floor := floors[strings.TrimPrefix(path, module)]
	return strings.HasPrefix(path, module) && floor >= floors["internal/resource"] &&
		floor <= floors["internal/operation"]
}

// largestPackage and mostNames bound a package of product code: beyond them a reader
// can't hold in mind what is in scope.
const largestPackage, mostNames = 5000, 250

// tooLarge are the packages that are still larger, in lines of at most 120 characters.
// They may only shrink.
var tooLarge = map[string]struct{ lines, names int }{}

func TestPackagesAreSmallEnoughToKnow(t *testing.T) {
	t.Parallel()
	all := sources(t, "internal", "cmd")
	lines, names := map[string]int{}, map[string]int{}
	for _, s := range all {
		if strings.HasSuffix(s.path, "_test.go") || slices.Contains(onlyForTests, s.dir) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, s.path))
		if err != nil {
			t.Fatal(err)
		}
		lines[s.dir] += strings.Count(string(text), "\n")
		names[s.dir] += packageNames(s.file)
	}
	for dir := range lines {
		bound := struct{ lines, names int }{largestPackage, mostNames}
		if larger, is := tooLarge[dir]; is {
			bound = larger
		}
		if lines[dir] > bound.lines || names[dir] > bound.names {
			t.Errorf("%s has %d lines and %d names at package level, and may have %d and %d", dir, lines[dir],
				names[dir], bound.lines, bound.names)
		}
	}
}

// packageNames counts what a file declares at package level, methods left out.
func packageNames(file *ast.File) (names int) {
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				names++
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					names++
				case *ast.ValueSpec:
					names += len(s.Names)
				}
			}
		}
	}
	return names
}
