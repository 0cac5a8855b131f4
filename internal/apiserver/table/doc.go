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
// are columns. A cell that cannot be computed is empty; it never costs the row. Ages are measured against time.Now at
// the call, so a watch that prints one object at a time prints the age at the time of the event.
//
// # What is not guaranteed
//
// That every built-in kind has the columns of a real server: those of Services, Ingresses and the other kinds that have
// a layout here do.
//
// # Where client-go differs
//
// client-go has no part in this: tables are made by the server, from code in k8s.io/kubernetes that cannot be imported.
package table
