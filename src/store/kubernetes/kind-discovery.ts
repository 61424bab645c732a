/**
 * Whether an API server is certain not to serve a kind. A server that starts, or one whose aggregator does, answers 404 for kinds that
 * it serves a moment later: only what a ready server leaves out of its discovery is not installed.
 */
import type { ResourceKind } from '../../api/objects.ts';
import { isJsonObject } from '../json.ts';
import { ApiError, type KubernetesClient } from './kubernetes-client.ts';
import { groupPath } from './kubernetes-paths.ts';

/** Milliseconds of silence after which a server is not ready. */
const READY_LIMIT = 10_000;

/** `/readyz` fails until definitions and aggregated APIs are known (kube-apiserver's post-start hooks). */
async function isReady(client: KubernetesClient, signal: AbortSignal): Promise<boolean> {
  const ignore = (): void => undefined;
  const request = { method: 'GET', path: '/readyz', about: '/readyz', signal } as const;
  try {
    await client.stream(request, READY_LIMIT, { onOpen: ignore, onLine: ignore });
    return true;
  } catch (error) {
    signal.throwIfAborted();
    // Who may not ask goes by discovery alone.
    return error instanceof ApiError && (error.status === 403 || error.status === 404);
  }
}

async function isListed(
  client: KubernetesClient,
  kind: ResourceKind,
  signal: AbortSignal,
): Promise<boolean | 'unknown'> {
  const path = groupPath(kind.apiVersion);
  try {
    const { resources } = await client.send({ method: 'GET', path, about: path, signal });
    if (!Array.isArray(resources)) return 'unknown';
    return resources.some((one) => isJsonObject(one) && one['name'] === kind.plural);
  } catch (error) {
    signal.throwIfAborted();
    return error instanceof ApiError && error.status === 404 ? false : 'unknown';
  }
}

/** True when a server that was ready before and after says that it has no such kind. */
export async function isMissing(
  client: KubernetesClient,
  kind: ResourceKind,
  signal: AbortSignal,
): Promise<boolean> {
  return (
    (await isReady(client, signal)) &&
    (await isListed(client, kind, signal)) === false &&
    (await isReady(client, signal))
  );
}
