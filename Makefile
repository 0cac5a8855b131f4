.PHONY: test race demo lint bench kubectl ci

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

# Each layer beside client-go, laid side by side.
bench:
	go test -run '^$$' -bench . -count 10 ./deltafifo ./indexer ./workqueue ./listwatch ./reflector ./sharedinformer | tee bench.out
	go tool -modfile=.ci/tools/go.mod benchstat -col /impl bench.out

# The upstream kubectl, for tests/kubectl.
kubectl:
	cd tests/kubectl/build && go build -ldflags "-s -w -X k8s.io/component-base/version.gitVersion=$(KUBECTL_VERSION)" -o ../../../bin/kubectl .

ci:
	.ci/run
