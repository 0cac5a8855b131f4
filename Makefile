.PHONY: test race demo lint bench coldsync scale kubectl controlplane upstream clientgo-tests chaos fuzz soak e2e mutants exercises swap programs ci

CONTROLPLANE_VERSION := $(shell sed -n 's/^[[:space:]]*k8s.io\/kubernetes //p' tests/controlplane/build/go.mod)
KUBECTL_VERSION := $(shell sed -n 's/^[[:space:]]*k8s.io\/kubectl v0/v1/p' tests/kubectl/build/go.mod)

test: ## what the README says
	go test ./...

race:
	go test -race ./...

demo:
	go run ./cmd/ingress-controller --demo

lint:
	gofmt -l $$(git ls-files '*.go')
	go vet ./...
	go tool -modfile=.ci/tools/go.mod staticcheck ./...

# Each layer beside client-go: raw figures, laid out by benchstat, a page with goals and ratios, a chart a layer, in docs/benchmarks.
bench:
	cd tests/bench && go run ./report -count 10

# 20,000 pods of a real API server, from the start until all handlers know them, then two storms of updates: docs/benchmarks/coldsync.md.
coldsync: controlplane
	cd tests/bench && go run ./coldsync -write $(COLDSYNC)

# A million objects in the API server in memory, held by one process and by five with shards: the tables of docs/scale.md. It needs
# about 10 GiB and half an hour.
scale:
	cd tests/bench && go run ./scale -write $(SCALE)

# The upstream kubectl, for tests/kubectl.
kubectl:
	cd tests/kubectl/build && go build -ldflags "-s -w -X k8s.io/component-base/version.gitVersion=$(KUBECTL_VERSION)" -o ../../../bin/kubectl .

# etcd, the upstream kube-apiserver and the garbage collector in one program, for the tests that need a real API server.
controlplane:
	cd tests/controlplane/build && CGO_ENABLED=0 go build -o ../../../bin/controlplane -ldflags "-s -w \
		-X k8s.io/component-base/version.gitVersion=$(CONTROLPLANE_VERSION) -X k8s.io/component-base/version.gitTreeState=clean \
		-X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=$(word 2,$(subst ., ,$(CONTROLPLANE_VERSION)))" .

# Upstream's ReplicaSet controller and garbage collector on our informers, on that API server.
upstream:
	cd tests/upstream && go test ./...

# client-go's own tests of tools/cache and util/workqueue on the facades; what becomes of each is in its TESTS.md.
clientgo-tests:
	cd tests/upstream/clientgo && go run .

# Upstream's kube-controller-manager and kube-scheduler on our informers, beside client-go's: docs/programs.md. It takes about two hours.
programs: controlplane
	go run ./tests/programs/patch -o bin/programs
	go run ./tests/programs -write $(PROGRAMS)

# The ingress controller on that API server, under the rights of deploy/.
e2e: controlplane
	GLASSWATCH_REQUIRE_CONTROLPLANE=1 go test -count=1 -timeout 15m -v ./tests/e2e/...

# A thousand seeded schedules of faults; a failure prints the command that plays it again.
chaos:
	go test -count=1 -timeout 20m -v -run '^TestChaos$$' ./tests/chaos -chaos.schedules=1000

# Every Fuzz function for a minute (FUZZTIME), two at a time.
fuzz:
	.ci/fuzz

# Half an hour of changes and faults (SOAK="--for 5m"), with plots.
soak:
	cd tests/bench && go run ./soak $(SOAK)

# One-line bugs, each of which the tests of its layer must catch; those that time out are counted apart.
mutants:
	GLASSWATCH_MUTANTS=1 go test -timeout 40m -v ./tests/mutants
	GLASSWATCH_MUTANTS=1 go test -timeout 40m -v -run ChaosMutants ./tests/chaos
	GLASSWATCH_MUTANTS=1 go test -timeout 40m -v -run ScaleMutants ./tests/scale

# Each exercise is red when its function is blank or wrong, and green with the project's own code.
exercises:
	GLASSWATCH_EXERCISES=1 go test -v -timeout 15m ./tests/exercises

# controller-runtime and the sample-controller on compat/.
swap:
	cd tests/controllerruntime && go test ./...

ci:
	.ci/run
