// Dependencies of nodes, with and without the data of edges.
#include "library.h"
int main(void) {
    FUNCTION(cudaGraphCreate);
    FUNCTION(cudaGraphAddEmptyNode);
    FUNCTION(cudaGraphAddDependencies);
    FUNCTION(cudaGraphGetEdges);
    FUNCTION(cudaGraphDestroy);
    cudaGraph_t graph;
    cudaGraphNode_t a, b, from[2], to[2];
    size_t count = 2;
    OK(my_cudaGraphCreate(&graph, 0));
    OK(my_cudaGraphAddEmptyNode(&a, graph, NULL, 0));
    OK(my_cudaGraphAddEmptyNode(&b, graph, NULL, 0));
#if CUDART_VERSION < 13000
    OK(my_cudaGraphAddDependencies(graph, &a, &b, 1));
    OK(my_cudaGraphGetEdges(graph, from, to, &count));
    FUNCTION(cudaGraphGetEdges_v2);
    cudaGraphEdgeData data[2];
    size_t again = 2;
    OK(my_cudaGraphGetEdges_v2(graph, from, to, data, &again));
    CHECK(again == 1 && data[0].type == 0);
#else
    cudaGraphEdgeData data[2];
    OK(my_cudaGraphAddDependencies(graph, &a, &b, NULL, 1));
    OK(my_cudaGraphGetEdges(graph, from, to, data, &count));
#endif
    CHECK(count == 1 && from[0] == a && to[0] == b);
    OK(my_cudaGraphDestroy(graph));
    return ok();
}
