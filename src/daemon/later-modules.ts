/** Modules that a daemon loads when its settings want them: compiled with the others, so that none of them brings a compiler at a later start. */
export const loadLaterModules = (): Promise<readonly unknown[]> =>
  Promise.all([
    import('../store/kubernetes/kubernetes-store.ts'),
    import('../store/kubernetes/kubernetes-connection.ts'),
    import('../store/kubernetes/kubeconfig.ts'),
    import('../store/manifests/manifest-store.ts'),
    import('../store/manifests/manifest-rules.ts'),
    import('../store/object-rules.ts'),
    import('./conversion-webhook.ts'),
  ]);
