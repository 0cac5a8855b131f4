package e2e

import (
	"debug/elf"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"k8s.io/klog/v2"

	"glasswatch/tests/check/controlplane"
)

const (
	root    = "../../.."
	deploy  = root + "/deploy"
	version = "v0.0.0-e2e"
)

var seed = flag.Int64("seed", 0, "seed of the storms; 0 takes a fresh one")

// shared has the common parts of the tests; each is made at its first use.
var shared struct {
	dir string // of the program

	plane     sync.Once
	cluster   *cluster
	planeErr  error
	stopPlane func() error

	build    sync.Once
	program  string
	buildErr error

	buildAPI    sync.Once
	api         string
	buildAPIErr error
}

func TestMain(m *testing.M) {
	flag.Parse()
	klog.SetLogger(logr.Discard()) // that of the actors: a test shows the logs of its programs if it fails
	os.Exit(runMain(m))
}

func runMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "glasswatch-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	shared.dir = dir
	code := m.Run()
	if shared.stopPlane != nil {
		if err := shared.stopPlane(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	return code
}

// onSharedPlane gives the control plane that the tests share.
func onSharedPlane(t *testing.T) *cluster {
	t.Helper()
	shared.plane.Do(func() {
		var plane *controlplane.Plane
		if plane, shared.planeErr = controlplane.Launch(controlplane.Options{}); shared.planeErr == nil {
			shared.stopPlane = plane.Stop
			shared.planeErr = defineAll(plane)
		}
		if shared.planeErr == nil {
			shared.cluster, shared.planeErr = newCluster(plane)
		}
	})
	require.NoError(t, shared.planeErr)
	return shared.cluster
}

// program gives the path of the controller, built as the image's is.
func program(t *testing.T) string {
	t.Helper()
	shared.build.Do(func() {
		shared.program, shared.buildErr = buildImage(root, "ingress-controller", version, shared.dir)
	})
	require.NoError(t, shared.buildErr)
	return shared.program
}

// informerAPI is program for the other one.
func informerAPI(t *testing.T) string {
	t.Helper()
	shared.buildAPI.Do(func() {
		shared.api, shared.buildAPIErr = buildImage(root, "informer-api", version, shared.dir)
	})
	require.NoError(t, shared.buildAPIErr)
	return shared.api
}

func TestImage_TheProgramIsStaticAndKnowsItsVersion(t *testing.T) {
	onSharedPlane(t) // or skip: building takes minutes
	out, err := exec.Command(program(t), "--version").Output()
	require.NoError(t, err)
	require.Equal(t, version, strings.TrimSpace(string(out)))
	file, err := elf.Open(program(t))
	require.NoError(t, err)
	defer file.Close()
	libraries, err := file.ImportedLibraries()
	require.NoError(t, err)
	require.Empty(t, libraries)
	for _, segment := range file.Progs {
		require.NotEqual(t, elf.PT_INTERP, segment.Type, "a scratch image has no loader")
	}
}

// The image's build gets only the files that the ignore file allows.
func TestImage_EveryPackageOfTheProgramIsInTheBuildContext(t *testing.T) {
	ignore, err := os.ReadFile(deploy + "/Dockerfile.dockerignore")
	require.NoError(t, err)
	list := exec.Command("go", "list", "-deps", "./cmd/ingress-controller", "./cmd/informer-api", "./cmd/foo-controller",
		"./cmd/cloudmanager")
	list.Dir = root
	out, err := list.Output()
	require.NoError(t, err)
	seen := 0
	for pkg := range strings.FieldsSeq(string(out)) {
		ours, isOurs := strings.CutPrefix(pkg, "glasswatch/")
		if !isOurs {
			continue
		}
		seen++
		top, _, _ := strings.Cut(ours, "/")
		require.Contains(t, string(ignore), "\n!"+top+"\n", "%s", pkg)
	}
	require.NotZero(t, seen)
}
