// Package table prints objects as a metav1.Table, which is what kubectl get asks for.
//
//	resource.Info ─▶ For ─▶ Printer ── Table(objects, list metadata, options) ─▶ columns and rows
//	                           │
//	                           ├ layouts of built-in kinds (Services, Ingresses, Pods, …)
//	                           ├ additionalPrinterColumns of custom resources (JSONPath)
//	                           └ NAME and AGE for the rest
//
// A row holds the cells of all columns; those with a priority above 0 are shown by kubectl -o wide only.
//
// # Guarantees
//
// A Printer is immutable and safe for concurrent use; printing changes no object. Each row has as many cells as there
// are columns. A cell that cannot be computed is empty; the row stays. Ages are computed at the call, so a watch prints
// the age at the time of the event.
//
// # What is not guaranteed
//
// The columns of a real server for every built-in kind: only Services, Ingresses and the other kinds with a layout here
// have them.
//
// # Where client-go differs
//
// client-go has no such code: the server makes tables, by code in k8s.io/kubernetes that cannot be imported.
package table
