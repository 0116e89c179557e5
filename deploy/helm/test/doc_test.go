package test

import (
	"testing"

	_ "helm.sh/helm/v3/pkg/action"
	_ "helm.sh/helm/v3/pkg/lint"
	_ "sigs.k8s.io/kubectl-validate/pkg/openapiclient"
	_ "sigs.k8s.io/kubectl-validate/pkg/validator"
)

func TestX(t *testing.T) {}
