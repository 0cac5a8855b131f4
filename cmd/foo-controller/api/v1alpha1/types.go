package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Foo asks for a Deployment. The group is one of Kubernetes' own, so its definition must say who approved it.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:metadata:annotations="api-approved.kubernetes.io=unapproved, an example of a controller"
type Foo struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   FooSpec   `json:"spec,omitempty"`
	Status FooStatus `json:"status,omitempty"`
}

// FooSpec is what the user asks for.
type FooSpec struct {
	// DeploymentName is the name of the Deployment, in the namespace of the Foo. Without it nothing is done.
	DeploymentName string `json:"deploymentName,omitempty"`
	// Replicas of the Deployment. Without it the Deployment has one, or what others give it.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10
	Replicas *int32 `json:"replicas,omitempty"`
}

// FooStatus is what the controller has seen.
type FooStatus struct {
	// AvailableReplicas is what the Deployment's status says, also if it is 0. Before the first sync it is missing.
	// +optional
	AvailableReplicas *int32 `json:"availableReplicas,omitempty"`
}

// FooList is what a list of Foos returns.
//
// +kubebuilder:object:root=true
type FooList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Foo `json:"items"`
}
