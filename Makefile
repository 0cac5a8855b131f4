.PHONY: test race demo lint bench kubectl mutants swap ci

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

# Each layer beside client-go: raw figures, a page with the ratios, a chart a layer, in docs/benchmarks.
bench:
	cd tests/bench && go run ./report -count 10

# The upstream kubectl, for tests/kubectl.
kubectl:
	cd tests/kubectl/build && go build -ldflags "-s -w -X k8s.io/component-base/version.gitVersion=$(KUBECTL_VERSION)" -o ../../../bin/kubectl .

# A hundred one-line bugs, each of which the tests of its layer must catch.
mutants:
	GLASSWATCH_MUTANTS=1 go test -timeout 40m -v ./tests/mutants

# controller-runtime and the sample-controller on compat/.
swap:
	cd tests/controllerruntime && go test ./...

ci:
	.ci/run
