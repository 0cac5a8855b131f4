package apiserver

import (
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"strings"

	"k8s.io/apimachinery/pkg/version"
)

// gitVersion is the version that clients see: that of the API types it is built from.
const gitVersion = "v1.37.2+glasswatch"

func serveVersion(w http.ResponseWriter, req *http.Request) {
	if req.Method != http.MethodGet {
		writeStatus(w, req, jsonFormat, routeError(http.StatusMethodNotAllowed, ""))
		return
	}
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

// serveHealth answers for each of the paths and for its only check, ping.
func serveHealth(w http.ResponseWriter, req *http.Request) {
	name, check, _ := strings.Cut(strings.Trim(req.URL.Path, "/"), "/")
	if check != "" && check != "ping" {
		plainNotFound(w)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if req.URL.Query().Has("verbose") {
		fmt.Fprintf(w, "[+]ping ok\n%s check passed\n", name)
		return
	}
	fmt.Fprint(w, "ok")
}
