/** What the cluster manager could not do, in words. */
import { ABSENCE_MEANS } from '../api/node-lease.ts';
import { errorText } from '../api/error-text.ts';
import type { ZoneProblem } from '../api/zone-status.ts';
import { StoreError } from '../store/store.ts';
import type { Failure } from '../store/work-queue.ts';
import type { Controllers } from './controllers.ts';
import { objectOfNetworkObject } from './status/problem-objects.ts';

/** Conflicts in a row after which somebody seems to write the object again and again. */
const CONFLICTS = 4;

/** Somebody wrote the object in between: the retry that is under way reads it again. */
const isPassing = ({ error, attempt }: Failure): boolean =>
  error instanceof StoreError && error.code === 'conflict' && attempt < CONFLICTS;

/** What each controller could not do. */
export function problemsOf(controllers: Controllers): readonly ZoneProblem[] {
  const problems: ZoneProblem[] = [];
  for (const [object, outcome] of controllers.networks.outcomes())
    for (const { message } of outcome.problems)
      problems.push({ object: objectOfNetworkObject(object), message });
  for (const [nad, message] of controllers.identities.problems())
    problems.push({ object: `NetworkAttachmentDefinition ${nad}`, message });
  for (const [name, message] of controllers.connects.problems())
    problems.push({ object: `ClusterNetworkConnect ${name}`, message });
  for (const [key, message] of controllers.tenantConnects.problems())
    problems.push({ object: `NetworkConnect ${key}`, message });
  for (const [pod, message] of controllers.pods.problems())
    problems.push({ object: `Pod ${pod}`, message });
  for (const [slice, message] of controllers.mirrors.problems())
    problems.push({ object: `EndpointSlice ${slice}`, message });
  for (const [name, message] of controllers.egressIps.problems())
    problems.push({ object: `EgressIP ${name}`, message });
  for (const [key, message] of controllers.egressServices.problems())
    problems.push({ object: `EgressService ${key}`, message });
  for (const [key, message] of controllers.serviceAddresses.problems())
    problems.push({ object: `Service ${key}`, message });
  for (const [node, message] of controllers.nodes.problems())
    problems.push({ object: `Node ${node}`, message });
  for (const network of controllers.nodes.networks.subnets.networks())
    for (const [node, message] of controllers.nodes.networks.subnets.failuresOf(network))
      problems.push({ object: `Node ${node}`, message });
  for (const [node, { message }] of controllers.heartbeats.absentees())
    problems.push({
      object: `Node ${node}`,
      message: `${message}: ${ABSENCE_MEANS}`,
    });
  for (const [queue, objectOfKey] of controllers.queues)
    for (const [key, failure] of queue.failing)
      if (!isPassing(failure))
        problems.push({ object: objectOfKey(key), message: errorText(failure.error) });
  return problems;
}
