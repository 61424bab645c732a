/** Whether a cluster manager leads, for people: pure, from the lease that they compete for. */
import { heartbeatOf, NODE_LEASE_NAMESPACE, type Lease } from '../api/node-lease.ts';
import type { ZoneProblem } from '../api/zone-status.ts';
import { DEFAULT_LEASE_NAME } from '../cluster/settings.ts';
import { CLOCKS } from './daemon-overview.ts';

/** Milliseconds for which nobody may lead: one that ended without giving the lease up is followed within some 20 s. */
const PATIENCE = 45_000;

/** That nobody leads, if so. Without a lease (manifests, where a lock decides) nobody is missed. `now`: milliseconds since the epoch. */
export function leaderProblem(leases: readonly Lease[], now: number): ZoneProblem | undefined {
  const lease = leases.find(
    ({ metadata: { namespace, name } }) =>
      namespace === NODE_LEASE_NAMESPACE && name === DEFAULT_LEASE_NAME,
  );
  if (lease === undefined) return undefined;
  const { renewTime, renewedAt, duration, isHeld } = heartbeatOf(lease);
  const age = now - renewedAt;
  const object = `Lease ${NODE_LEASE_NAMESPACE}/${DEFAULT_LEASE_NAME}`;
  if (age < -CLOCKS)
    return {
      object,
      message: `whether a cluster manager leads can't be told: it was renewed at ${renewTime}, which is in ${Math.round(-age / 1000)} s by the clock of this machine; set the clock of this machine, or that of the node where ${lease.spec?.holderIdentity ?? 'the manager'} runs`,
    };
  if (age < Math.max(PATIENCE, duration)) return undefined;
  const ago = `${renewTime}, ${Math.round(age / 1000)} s ago by the clock of this machine`;
  const last = isHeld
    ? `${lease.spec?.holderIdentity ?? ''} was the last, at ${ago}`
    : `the last one stopped at ${ago}`;
  return {
    object,
    message: `no cluster manager leads: ${last}; what is new (networks, pods, nodes) gets no ids, subnets and addresses, and what is there goes on: see whether its pods run, and their logs (kubectl -n heddle get pods -l app.kubernetes.io/component=cluster), and whether the clocks of its node and of this machine agree`,
  };
}
