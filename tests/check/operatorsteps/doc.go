// Package operatorsteps keeps docs/learn/operator.md true.
//
//	docs/learn/operator/01-….diff … 07-….diff ──applied in order──▶ seven programs ──go build──▶ run on an API server
//	     └──▶ <!-- diff 01-… --> … <!-- end -->       <!-- prints 1 --> … <!-- end --> ◀── what they print
//
// `go test -C tests/check ./operatorsteps -update` writes both kinds of blocks into the page. The test fails if they are
// outdated. The programs are compiled as packages of this module, with an overlay: no file is written into the module.
package operatorsteps
