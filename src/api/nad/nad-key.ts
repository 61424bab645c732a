/** Keys by which a pod's annotation names its attachments: `default`, or `<namespace>/<nad>`, `/<k>` for a repeated one. */

/** Key of the attachment to the cluster default network. */
export const DEFAULT_NAD_KEY = 'default';

/** `<namespace>/<nad>` of a NAD key. */
export const nadOfKey = (nadKey: string): string => nadKey.split('/').slice(0, 2).join('/');

/** Key of the `k`-th attachment of a pod to one NAD, counted from 0. */
export const repeatedNadKey = (namespace: string, name: string, k: number): string =>
  k === 0 ? `${namespace}/${name}` : `${namespace}/${name}/${k}`;
