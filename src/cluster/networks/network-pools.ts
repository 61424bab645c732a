/** Pools of addresses that networks have for services, from their objects to their NADs (decisions/service-pools.md). Pure. */
import { annotationOf } from '../../api/annotations/annotations.ts';
import { SECONDARY_GATEWAY, SERVICE_POOL } from '../../api/annotations/network-annotations.ts';
import { renderNad } from '../../api/nad/nad.ts';
import type { NetworkConfig } from '../../api/nad/network-config.ts';
import type { NetworkObject } from '../../api/nad/network-spec.ts';
import { fail, type Result } from '../../api/result.ts';
import { formatValue } from '../../api/validation/field-errors.ts';
import type { NetworkAttachmentDefinition } from '../../api/types.ts';
import type { ClusterSettings } from '../../model/model.ts';
import { readServicePool } from '../../model/rules/service-pools.ts';
import { withRequested } from './nads.ts';
import type { StatedCondition } from '../../store/status-writer.ts';

/** The pool that an object asks for, or what is wrong with it; undefined where it asks for none. */
function requested(
  object: NetworkObject,
  config: NetworkConfig,
  settings: ClusterSettings,
): Result<readonly string[]> | undefined {
  const asked = annotationOf(object, SERVICE_POOL);
  if (asked === undefined) return undefined;
  const read = readServicePool(asked, config, settings);
  const hasServices =
    config.role !== 'secondary' || annotationOf(object, SECONDARY_GATEWAY) !== undefined;
  return read.kind === 'invalid' || hasServices
    ? read
    : fail(
        `metadata.annotations[${SERVICE_POOL}]: ${formatValue(asked)} is a pool of a secondary network without a gateway, and so without services; give it annotation ${SECONDARY_GATEWAY}, or remove this one`,
      );
}

/**
 * The NAD with the pool that its object asks for. While that can't be used the NAD keeps the one that it has: a slip of the pen takes no service its
 * address.
 */
export function withPool(
  nad: NetworkAttachmentDefinition,
  config: NetworkConfig,
  object: NetworkObject,
  existing: NetworkAttachmentDefinition | undefined,
  settings: ClusterSettings,
): NetworkAttachmentDefinition {
  const read = requested(object, config, settings);
  if (read === undefined) return nad;
  const pool = read.kind === 'value' ? read.value.join(', ') : undefined;
  return withRequested(nad, SERVICE_POOL, pool, existing);
}

/** What is wrong with the pool that an object asks for; undefined also for one whose network can't be made. */
export function poolProblem(object: NetworkObject, settings: ClusterSettings): string | undefined {
  if (annotationOf(object, SERVICE_POOL) === undefined) return undefined;
  const rendered = renderNad(object, object.metadata.namespace ?? 'default', settings);
  if (rendered.kind === 'invalid') return undefined;
  const read = requested(object, rendered.value.config, settings);
  return read?.kind === 'invalid' ? read.error : undefined;
}

/** Condition `ServicePoolAccepted` of an object that asks for a pool; undefined for one that does not. */
export function servicePoolAccepted(
  object: NetworkObject,
  settings: ClusterSettings,
): StatedCondition | undefined {
  if (annotationOf(object, SERVICE_POOL) === undefined) return undefined;
  const problem = poolProblem(object, settings);
  const type = 'ServicePoolAccepted';
  return problem === undefined
    ? {
        type,
        status: 'True',
        reason: 'ServicePoolAccepted',
        message: 'Services of the network may have addresses of the pool.',
      }
    : {
        type,
        status: 'False',
        reason: 'InvalidServicePool',
        message: `${problem}: until then services have addresses of the pool that was in force before, if there was one`,
      };
}
