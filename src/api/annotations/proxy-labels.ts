/** Labels by which services and EndpointSlices say that whoever serves cluster IPs is to leave them alone. */
import type { KubeObject } from '../objects.ts';

/** Of a service that another program serves, which its value names. */
const PROXY_NAME = 'service.kubernetes.io/service-proxy-name';
/** Of a service that is treated as one without a cluster IP, and of the slices of those. */
export const HEADLESS = 'service.kubernetes.io/headless';

/** True for a service or a slice that is not ours to serve, whatever the labels' values are. */
export const isServedByOthers = ({ metadata: { labels = {} } }: KubeObject): boolean =>
  [PROXY_NAME, HEADLESS].some((label) => Object.hasOwn(labels, label));
