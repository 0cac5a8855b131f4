package controllerruntime

// What the sample-controller's own packages need stays in go.mod through this import.
import _ "k8s.io/sample-controller/pkg/generated/informers/externalversions"
