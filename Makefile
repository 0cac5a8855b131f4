.PHONY: test race demo lint times flaky check ci bench goals coldsync scale soak chaos fuzz kubectl controlplane upstream clientgo-tests e2e mutants exercises swap programs

CONTROLPLANE_VERSION := $(shell sed -n 's/^[[:space:]]*k8s.io\/kubernetes //p' tests/check/kubernetes/go.mod)
KUBECTL_VERSION := $(shell sed -n 's/^[[:space:]]*k8s.io\/kubectl v0/v1/p' tests/check/kubernetes/go.mod)
N ?= 20

test: ## what the README says
	go test ./...

race:
	go test -race ./...

demo:
	go run ./cmd/ingress-controller --demo

lint:
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); [ -z "$$unformatted" ] || { echo "gofmt would change:"; echo "$$unformatted"; exit 1; }
	go vet ./...
	GOGC=400 go tool -modfile=.ci/tools/go.mod staticcheck ./...

# How long the README's two commands take, from a fresh clone: with empty caches, and with full ones.
times:
	.ci/times

# The test command N times (20) on busy cores, without and with -race: prints each test that was red once.
flaky:
	.ci/flaky $(N)

# What drives other programs, or repeats on a large scale: real API servers, kubectl, Chromium, upstream's controllers and tests, mutants,
# a thousand schedules, the race detector, fuzzing. On two cores it takes more than half an hour.
check:
	tests/check/run

# All of it, as before a change lands. As root it installs with apt-get what is missing of gcc and Chromium.
ci:
	CI=true .ci/run

# Each layer beside client-go: raw figures, laid out by benchstat, a page with goals and ratios, a chart a layer, in docs/results/benchmarks.
bench:
	cd tests/check/bench && go run ./report -count 10

# What goals are about, again, six minutes: docs/results/benchmarks/goals.md.
goals:
	cd tests/check/bench && go run ./report -goals

# 20,000 pods of a real API server, from the start until all handlers know them, then two storms of updates: docs/results/benchmarks/coldsync.md.
coldsync: controlplane
	cd tests/check/bench && go run ./coldsync -write $(COLDSYNC)

# A million objects in the API server in memory, held by one process and by five with shards: the tables of docs/results/scale.md. It needs
# about 10 GiB and half an hour.
scale:
	cd tests/check/bench && go run ./scale -write $(SCALE)

# Half an hour of changes and faults (SOAK="--for 5m"), with plots.
soak:
	cd tests/check && go run ./bench/soak $(SOAK)

# A thousand seeded schedules of faults; a failure prints the command that plays it again.
chaos:
	go test -count=1 -timeout 20m -v -run '^TestChaos$$' ./tests/chaos -chaos.schedules=1000

# Every Fuzz function for a minute (FUZZTIME), two at a time.
fuzz:
	.ci/fuzz

# The upstream kubectl, for tests/check/kubectl.
kubectl:
	cd tests/check/kubernetes && go build -ldflags "-s -w -X k8s.io/component-base/version.gitVersion=$(KUBECTL_VERSION)" -o ../../../bin/kubectl ./kubectl

# etcd, the upstream kube-apiserver and the garbage collector in one program, for the tests that need a real API server.
controlplane:
	cd tests/check/kubernetes && CGO_ENABLED=0 go build -o ../../../bin/controlplane -ldflags "-s -w \
		-X k8s.io/component-base/version.gitVersion=$(CONTROLPLANE_VERSION) -X k8s.io/component-base/version.gitTreeState=clean \
		-X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=$(word 2,$(subst ., ,$(CONTROLPLANE_VERSION)))" ./controlplane

# Upstream's ReplicaSet controller and garbage collector on our informers, on that API server.
upstream: controlplane
	cd tests/check/kubernetes && go test ./upstream

# client-go's own tests of tools/cache and util/workqueue on the facades; what becomes of each is in its TESTS.md.
clientgo-tests:
	cd tests/check/clientgo && go run .

# Upstream's kube-controller-manager and kube-scheduler on our informers, beside client-go's: docs/results/programs.md. It takes about two hours.
programs: controlplane
	cd tests/check && go run ./programs/patch -o ../../bin/programs
	cd tests/check && go run ./programs -write $(PROGRAMS)

# The ingress controller on that API server, under the rights of deploy/.
e2e: controlplane
	cd tests/check && go test -count=1 -timeout 15m -v ./e2e/...

# One-line bugs, each of which the tests of its layer must catch; those that time out are counted apart.
mutants:
	cd tests/check && GLASSWATCH_MUTANTS=1 go test -timeout 40m -v ./mutants ./chaos ./scale

# Each exercise is red when its function is blank or wrong, and green with the project's own code.
exercises:
	cd tests/check && go test -v -timeout 15m ./exercises

# controller-runtime and the sample-controller on compat/.
swap:
	cd tests/check && go test ./controllerruntime/...
