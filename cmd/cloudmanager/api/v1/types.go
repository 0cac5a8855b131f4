package v1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// CloudManager asks for a cloud manager: a front, an identity service and a database, started in this order.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type CloudManager struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              CloudManagerSpec `json:"spec"`
	// +optional
	Status CloudManagerStatus `json:"status,omitempty"`
}

// CloudManagerList is a list of CloudManagers.
//
// +kubebuilder:object:root=true
type CloudManagerList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []CloudManager `json:"items"`
}

// CloudManagerSpec is what is wanted. The parts start in this order, each when the one before it is ready.
type CloudManagerSpec struct {
	Front    Component `json:"front"`
	Identity Component `json:"identity"`
	DB       Database  `json:"db"`
}

// Component is a part that runs as a Deployment.
type Component struct {
	Deployment Workload `json:"deployment"`
}

// Workload names a Deployment and its image. How many replicas there are is not said here: whoever scales the
// Deployment decides, a person or a HorizontalPodAutoscaler.
type Workload struct {
	// name of the Deployment. A change makes another Deployment. The old one is removed when all is ready.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
	// +kubebuilder:validation:MinLength=1
	Image string `json:"image"`
}

// Database is the part that runs as a StatefulSet, with a Service of the same name. At most one of rootPass and
// rootPasswordSecretRef may be set. With neither a password is generated, in the Secret <name>auth.
type Database struct {
	StatefulSet StatefulWorkload `json:"statefulSet"`
	// rootPass is the password of the database's root, put into the Secret <name>auth.
	//
	// Deprecated: everybody who may read the CloudManager reads the password. Set rootPasswordSecretRef, or neither.
	// +kubebuilder:validation:MinLength=1
	// +optional
	RootPass string `json:"rootPass,omitempty"`
	// rootPasswordSecretRef points to a Secret of somebody else's with the password. It is neither read nor changed here.
	// +optional
	RootPasswordSecretRef *SecretKeyRef `json:"rootPasswordSecretRef,omitempty"`
}

// StatefulWorkload names a StatefulSet, its image and its storage.
type StatefulWorkload struct {
	// name of the StatefulSet and of its Service. A change makes another database, with empty storage of its own.
	// The claims of the old one stay. (52, since a Pod's label has eleven characters more.)
	// +kubebuilder:validation:MaxLength=52
	// +kubebuilder:validation:Pattern=`^[a-z]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
	// +kubebuilder:validation:MinLength=1
	Image string `json:"image"`
	// storage of each replica. A StatefulSet's claims cannot change: a later change is reported, and nothing is done.
	Storage Storage `json:"storage"`
}

// Storage is what the claim of each replica asks for.
type Storage struct {
	// class is the name of the StorageClass. Without it the cluster's default is taken.
	// +optional
	Class *string `json:"class,omitempty"`
	// +kubebuilder:default={ReadWriteOnce}
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:items:Enum=ReadWriteOnce;ReadOnlyMany;ReadWriteMany;ReadWriteOncePod
	// +listType=atomic
	// +optional
	AccessModes []corev1.PersistentVolumeAccessMode `json:"accessModes,omitempty"`
	// size of the volume, such as 1Gi.
	Size resource.Quantity `json:"size"`
}

// SecretKeyRef is a key of a Secret in the same namespace.
type SecretKeyRef struct {
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`
	// +kubebuilder:default=password
	// +kubebuilder:validation:MinLength=1
	// +optional
	Key string `json:"key,omitempty"`
}

// Phase sums the conditions up for a person. Programs read the conditions.
//
// +kubebuilder:validation:Enum=Creating;Running;Blocked
type Phase string

// The phases, and the types of the conditions.
const (
	PhaseCreating Phase = "Creating" // a gate is closed
	PhaseRunning  Phase = "Running"  // all gates are open
	PhaseBlocked  Phase = "Blocked"  // nothing goes on until somebody changes something

	ConditionReady      = "Ready"      // True when everything exists and each gate is open
	ConditionReconciled = "Reconciled" // False while something that is asked for cannot be done; the reason says what
)

// CloudManagerStatus is what was found. observedGeneration is the generation of the spec that it is about.
type CloudManagerStatus struct {
	// +optional
	Phase Phase `json:"phase,omitempty"`
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
