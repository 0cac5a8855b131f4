package apiserver

import (
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"

	"k8s.io/apimachinery/pkg/version"
)

// gitVersion is what clients take the server for: the version of the API types it is built from.
const gitVersion = "v1.37.2+glasswatch"

func serveVersion(w http.ResponseWriter, _ *http.Request) {
	info := version.Info{
		Major: "1", Minor: "37", GitVersion: gitVersion, GitTreeState: "clean",
		GoVersion: runtime.Version(), Compiler: runtime.Compiler, Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
	writePlainJSON(w, info)
}

func writePlainJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	_ = encoder.Encode(v)
}

func serveHealth(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	fmt.Fprint(w, "ok")
}
