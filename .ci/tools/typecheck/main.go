// Command typecheck checks the types of packages and of their tests from source, for the system that GOOS names. That takes seconds,
// where go vet would first compile all of Kubernetes for that system.
package main

import (
	"log"
	"os"

	"golang.org/x/tools/go/packages"
)

func main() {
	const all = packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedDeps |
		packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo | packages.NeedTypesSizes
	loaded, err := packages.Load(&packages.Config{Mode: all, Tests: true}, os.Args[1:]...)
	if err != nil {
		log.Fatal(err)
	}
	if packages.PrintErrors(loaded) > 0 {
		os.Exit(1)
	}
}
